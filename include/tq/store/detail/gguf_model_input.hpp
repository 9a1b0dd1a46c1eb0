// SPDX-License-Identifier: MIT
#pragma once
// A model of Hugging Face as the input of a GGUF file, by a mapping.

#include <tq/containers/gguf_value.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/json/json.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/store/detail/gguf_fitting_keys.hpp>
#include <tq/store/detail/gguf_input.hpp>
#include <tq/store/detail/gguf_rope.hpp>
#include <tq/store/detail/model_config.hpp>
#include <tq/store/float_reader.hpp>
#include <tq/store/gguf_mapping.hpp>
#include <tq/store/missing_file.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Throws: `errc::bad_argument` for a model without a config.json; a GGUF file in its folder may
// have been meant.
inline void require_config_file(const std::filesystem::path& model) {
  std::error_code code;
  const std::filesystem::path folder =
      std::filesystem::is_directory(model, code) ? model : model.parent_path();
  if (std::filesystem::exists(folder / "config.json", code)) return;
  std::string meant;
  for (const std::string& name : names_in(folder))
    if (name.ends_with(".gguf") && (meant.empty() || name < meant)) meant = name;
  tq::detail::raise_expected(
      errc::bad_argument, model.string(),
      {"a model with a config.json in its folder, which the keys of a GGUF file are made of"},
      {"none", meant.empty() ? "" : "; did you mean \"" + (folder / meant).string() + "\"?"});
}

inline void require_config(const ModelConfig& config, const GgufMapping& mapping) {
  for (const GgufRequirement& r : mapping.requirements) {
    const io::Json* const value = config.find(r.from);
    if (value == nullptr) continue;
    const bool is_known = value->is_string() &&
                          std::ranges::find(r.values, value->get<std::string>()) != r.values.end();
    if (!is_known)
      config.refuse(
          r.from.front() + " " + joined_names(r.values) + " for models of " + mapping.architecture,
          io::JsonFields::got(*value));
  }
}

[[nodiscard]] inline io::GgufValue gguf_value(const ModelConfig& config, const GgufKeyRule& rule) {
  if (rule.type == "uint32") return config.count(rule.from);
  const io::Json& value = config.at(rule.from);
  const auto require = [&](bool fits) {
    if (!fits)
      config.refuse(joined_names(rule.from) + " as " + rule.type, io::JsonFields::got(value));
  };
  if (rule.type == "float32") {
    require(value.is_number());
    return static_cast<float>(value.get<double>());
  }
  if (rule.type == "bool") {
    require(value.is_boolean());
    return value.get<bool>();
  }
  require(value.is_string());
  return value.get<std::string>();
}

[[nodiscard]] inline std::vector<io::GgufEntry> gguf_entries(const ModelConfig& config,
                                                             const GgufMapping& mapping,
                                                             const std::string& name) {
  std::vector<io::GgufEntry> out{{"general.architecture", mapping.architecture},
                                 {"general.type", std::string("model")},
                                 {"general.name", name}};
  for (const GgufKeyRule& rule : mapping.keys) {
    if (config.find(rule.from) != nullptr) {
      out.push_back({rule.key, gguf_value(config, rule)});
    } else if (!rule.numerator.empty()) {
      const std::uint32_t over = config.count({rule.denominator}),
                          all = config.count({rule.numerator});
      if (over == 0 || all % over != 0)
        config.refuse(rule.numerator + " as a multiple of " + rule.denominator,
                      std::to_string(all) + " and " + std::to_string(over));
      out.push_back({rule.key, all / over});
    } else if (!rule.is_optional) {
      static_cast<void>(config.at(rule.from));  // names what is missing
    }
  }
  return out;
}

template <class Model>
class GgufModelInput final : public GgufInput {
 public:
  GgufModelInput(const std::filesystem::path& path, const GgufMapping& mapping)
      : model_(path), config_(model_.files().front().parent_path() / "config.json"), path_(path) {
    if (model_.is_quantized())
      tq::detail::raise_expected(errc::bad_argument, path.string(), {"a model in float"},
                                 {"one that tq quantized; tq dequantize turns it back"});
    if (!model_.unreadable().empty())
      tq::detail::raise_text(errc::unsupported, {path.string(), ": ", model_.unreadable()});
    require_config(config_, mapping);
    const std::filesystem::path folder =
        std::filesystem::weakly_canonical(model_.files().front()).parent_path();
    entries = gguf_entries(config_, mapping, folder.filename().string());
    std::map<std::string, std::size_t> places;  // of items by their names
    std::map<std::string, std::map<std::size_t, const StoredTensor*>> experts;
    for (const StoredTensor& t : model_.tensors()) add(t, mapping, places, experts);
    for (const auto& [name, parts] : experts) stack(items[places.at(name)], parts);
    require_fitting_keys(*this, path.string());
    add_rope_scaling(config_, mapping.architecture, *this);
  }
  [[nodiscard]] std::unique_ptr<GgufItemReader> reader() const override {
    return std::make_unique<Reader>(model_);
  }
  [[nodiscard]] std::vector<std::filesystem::path> files() const override { return model_.files(); }

 private:
  void add(const StoredTensor& t, const GgufMapping& mapping,
           std::map<std::string, std::size_t>& places,
           std::map<std::string, std::map<std::size_t, const StoredTensor*>>& experts) {
    for (const std::string& pattern : mapping.dropped)
      if (match_gguf_name(pattern, t.name)) return dropped.push_back(t.name);
    for (const GgufNameRule& rule : mapping.names) {
      const auto numbers = match_gguf_name(rule.from, t.name);
      if (!numbers) continue;
      const std::string name = with_gguf_numbers(rule.to, *numbers);
      const bool is_expert = !numbers->expert.empty();
      const auto [place, is_new] = places.try_emplace(name, items.size());
      if (!is_new && !is_expert)
        tq::detail::raise_expected(errc::bad_argument, path_.string(), {"one tensor for ", name},
                                   {io::shown(t.name), " as well"});
      if (is_new) items.push_back(item_of(t, name, rule));
      if (is_expert) experts[name][std::stoul(numbers->expert)] = &t;
      return;
    }
    tq::detail::raise_text(
        errc::unsupported,
        {path_.string(), ": tensor ", io::shown(t.name), ": expected a name that the mapping of ",
         mapping.architecture, " has, got this one; `mapping` takes a file with others"});
  }

  [[nodiscard]] GgufItem item_of(const StoredTensor& t, const std::string& name,
                                 const GgufNameRule& rule) const {
    GgufItem item;
    item.to = {name, t.shape};
    item.from_type = t.scheme();
    item.from_bytes = t.bytes;
    item.is_quantized = t.foreign != nullptr;
    item.parts = {&t};
    if (!is_quantizable(t.dtype))
      tq::detail::raise_text(errc::unsupported, {path_.string(), ": tensor ", io::shown(t.name),
                                                 ": expected floats, got ", item.from_type});
    if (!rule.heads.empty()) {
      const std::uint32_t heads = config_.count(rule.heads);
      const std::size_t rows = t.shape.empty() ? 0 : t.shape.front();
      if (heads == 0 || rows % heads != 0 || rows / heads % 2 != 0)
        tq::detail::raise_text(
            errc::shape_mismatch,
            {path_.string(), ": tensor ", io::shown(t.name), ": expected rows of ", heads,
             " heads of even size, got ", io::shape_text(t.shape)});
      item.head_rows = item.unit = rows / heads;
    }
    return item;
  }

  // Makes one tensor of the matrices of experts 0, 1, ...
  void stack(GgufItem& item, const std::map<std::size_t, const StoredTensor*>& parts) {
    item.parts.clear();
    item.from_bytes = 0;
    for (const auto& [number, t] : parts) {
      if (number != item.parts.size() || t->shape != item.to.shape ||
          (t->foreign != nullptr) != item.is_quantized)
        tq::detail::raise_text(
            errc::shape_mismatch,
            {path_.string(), ": tensor ", io::shown(t->name), ": expected expert ",
             item.parts.size(), " of shape ", io::shape_text(item.to.shape), ", got ", number,
             " of ", io::shape_text(t->shape)});
      item.parts.push_back(t);
      item.from_bytes += t->bytes;
    }
    item.to.shape.insert(item.to.shape.begin(), item.parts.size());
  }

  class Reader final : public GgufItemReader {
   public:
    explicit Reader(const Model& model) : model_(model.another()), floats_(model_) {}
    void read(const GgufItem& item, std::uint64_t first, std::span<float> out) override {
      if (item.parts.empty()) {
        std::copy_n(item.values.begin() + static_cast<std::ptrdiff_t>(first), out.size(),
                    out.begin());
        return;
      }
      const std::uint64_t each = item.elements() / item.parts.size();
      const StoredTensor& part = *item.parts[static_cast<std::size_t>(first / each)];
      const bool is_permuted = item.head_rows != 0;
      if (is_permuted) head_.resize(out.size());
      const std::span<float> to = is_permuted ? std::span<float>(head_) : out;
      floats_.for_each(part, {static_cast<std::size_t>(first % each), out.size()},
                       [&](std::size_t at, std::span<const float> values) {
                         std::ranges::copy(values, to.begin() + static_cast<std::ptrdiff_t>(at));
                       });
      if (is_permuted) pair_rows(item, out);
    }
    void copy(const GgufItem&, std::uint64_t, std::span<std::byte>) override {}

   private:
    // Row 2j + p of a head is its row j of half p.
    void pair_rows(const GgufItem& item, std::span<float> out) const {
      const std::size_t n = item.to.shape.size() < 2 ? 1 : item.to.shape.back();
      const std::size_t half = item.head_rows / 2, head = item.head_rows * n;
      for (std::size_t begin = 0; begin < out.size(); begin += head)
        for (std::size_t row = 0; row < item.head_rows; ++row)
          std::copy_n(
              head_.begin() + static_cast<std::ptrdiff_t>(begin + (row % 2 * half + row / 2) * n),
              n, out.begin() + static_cast<std::ptrdiff_t>(begin + row * n));
    }

    Model model_;
    FloatReader<Model> floats_;
    std::vector<float> head_;
  };

  Model model_;
  ModelConfig config_;
  std::filesystem::path path_;
};

}  // namespace tq::store::detail
