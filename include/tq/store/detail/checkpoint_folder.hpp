// SPDX-License-Identifier: MIT
#pragma once
// The folder of a checkpoint beside its tensors: config.json with the scheme, and the files that
// are carried over.

#include <tq/checkpoints/served_config.hpp>
#include <tq/error.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json_member.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/checkpoint_plan.hpp>
#include <tq/store/detail/companion_files.hpp>
#include <tq/store/detail/old_models.hpp>
#include <tq/store/detail/quantize_target.hpp>
#include <tq/store/missing_file.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/own_file.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tq::store::detail {

// The files of the output that hold no tensors.
class CheckpointFolder {
 public:
  CheckpointFolder(const std::filesystem::path& in, const std::filesystem::path& out)
      : in_(in), out_(out), config_text_(read_config(in)), files_(companion_files(in, out)) {}

  // The text of config.json. Throws: errc::bad_argument for a folder without it.
  [[nodiscard]] static std::string read_config(const std::filesystem::path& in) {
    const std::filesystem::path file = in / "config.json";
    std::error_code code;
    if (!std::filesystem::exists(file, code))
      tq::detail::raise_expected(
          errc::bad_argument, in.string(),
          {"a folder with the config.json of the model, which names its layers"}, {"none"});
    return io::read_text(file);
  }
  [[nodiscard]] io::Json config() const {
    return io::parse_json(config_text_, (in_ / "config.json").string());
  }
  [[nodiscard]] const CompanionFiles& files() const noexcept { return files_; }

  // Takes the keys of the format into the configuration; a name that ends in ".json" is a file.
  void describe(const AnyFormat& format, const io::WrittenModel& model) {
    const std::string file = (in_ / "config.json").string();
    for (const char* const old : {"compression_config", "quantization"})
      config_text_ = io::without_member(config_text_, old, file);
    for (const char* const part : io::language_model_keys)
      config_text_ = io::with_inner_object(config_text_, part, file, without_quantization);
    const io::Json own = format.quantization_config(model);
    config_text_ = io::with_member(config_text_, "quantization_config", own, file);
    for (auto& [name, value] : format.more_config(own))
      if (name.ends_with(".json")) more_.emplace_back(name, value.dump(2) + "\n");
      else config_text_ = io::with_member(config_text_, name, value, file);
  }

  // Throws: errc::bad_argument, naming the file, where the folder has files in the place of those
  // that are written, unless `overwrite`; and where it has weights that engines would mix with the
  // new ones.
  void require_free(const QuantizeTarget& target, const QuantizePlan& plan,
                    const ModelContents& model, bool overwrite) const {
    for (const std::string& name : written()) require_free_place(out_ / name, overwrite);
    for (const std::string_view name : quantization_files)
      require_free_place(out_ / name, overwrite);
    std::set<std::filesystem::path> known;
    for (const std::string& name : files_written(target, plan)) known.insert(out_ / name);
    for (const auto& old : old_models(target, plan, model).shards) known.insert(old);
    std::error_code code;
    for (std::filesystem::directory_iterator at(out_, code), end; !code && at != end;
         at.increment(code)) {
      const std::string name = at->path().filename().string();
      const bool is_weights = name.ends_with(".safetensors") && !io::is_hidden(name);
      if (is_weights && !known.contains(out_ / name))
        tq::detail::raise_text(
            errc::bad_argument,
            {at->path().string(), ": expected a folder without other weights for the output"});
    }
  }

  // Each file appears as a whole. config.json is the last.
  void write() const {
    for (const std::string_view name : quantization_files) {
      std::error_code code;
      std::filesystem::remove(out_ / name, code);
    }
    for (const std::string& name : files_.copied) copy_companion(in_ / name, out_ / name);
    for (const auto& [name, text] : more_) write_companion(out_ / name, text);
    write_companion(out_ / "config.json", config_text_);
  }

 private:
  // The configuration of a language model within that of a multimodal one, without old keys.
  [[nodiscard]] static std::string without_quantization(std::string text) {
    for (const char* const old : {"quantization_config", "compression_config", "quantization"})
      text = io::without_member(text, old);
    for (const char* const part : io::language_model_keys)
      text = io::with_inner_object(text, part, {}, without_quantization);
    return text;
  }
  [[nodiscard]] std::vector<std::string> written() const {
    std::vector<std::string> names = files_.copied;
    for (const auto& [name, text] : more_) names.push_back(name);
    names.emplace_back("config.json");
    return names;
  }

  std::filesystem::path in_, out_;
  std::string config_text_;
  CompanionFiles files_;
  std::vector<std::pair<std::string, std::string>> more_{};
};

}  // namespace tq::store::detail
