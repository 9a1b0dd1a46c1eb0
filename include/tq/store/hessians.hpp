// SPDX-License-Identifier: MIT
#pragma once
// Hessians: those of the layers of a model by name, wherever they come from.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/ptq/hessian.hpp>
#include <tq/ptq/hessian_stack.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/store/detail/activation_batches.hpp>
#include <tq/store/detail/digest.hpp>
#include <tq/store/hessian_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// Options of `Hessians::of_activations`.
struct ActivationOptions {
  int bits = 14;  ///< as those of `Hessian`
  /// The Hessian that the tokens of a name are added to, if there is one: its steps are kept, and a
  /// value beyond them is an error. Without it, data are read twice, first for their range.
  std::function<std::optional<Hessian>(const std::string& name)> start{};
};

/// The Hessians of layers, each read or made when it is asked for, by any thread.
class Hessians {
 public:
  /// In memory.
  explicit Hessians(std::map<std::string, Hessian> all) {
    auto held = std::make_shared<const std::map<std::string, Hessian>>(std::move(all));
    store::detail::Digest digest;
    for (const auto& [name, hessian] : *held) {
      names_.push_back(name);
      const Hessian::State state = hessian.state();
      digest.add(name).add(state.tokens).add(static_cast<std::uint64_t>(state.bits));
      for (const int e : state.exponents) digest.add(static_cast<std::uint64_t>(e));
      for (const std::int64_t sum : state.sums) digest.add(static_cast<std::uint64_t>(sum));
    }
    digest_ = digest.text();
    inputs_ = [held](const std::string& name) { return held->at(name).inputs(); };
    get_ = [held](const std::string& name) { return held->at(name); };
  }
  /// The Hessians of a file that `HessianWriter` wrote. Throws: as `HessianFile`.
  [[nodiscard]] static Hessians of_file(const std::filesystem::path& path) {
    auto file = std::make_shared<const HessianFile>(path);
    return Hessians(
        file->names(), {path}, [file](const std::string& name) { return file->inputs(name); },
        [file](const std::string& name) { return file->read(name); });
  }
  /// The Hessians of activations [..., inputs] in .npy, .npz and .safetensors files, and in folders
  /// of them: tensors of one name are batches of a layer, as `store::batch_of` names them. Throws:
  /// `errc::no_data`; `errc::io_failure`; `errc::malformed`; `errc::bad_argument` for other bits.
  [[nodiscard]] static Hessians of_activations(const std::vector<std::string>& data,
                                               const ActivationOptions& options = {}) {
    tq::detail::require_bits("tq::Hessians::of_activations", options.bits);
    auto batches = std::make_shared<const store::detail::ActivationBatches>(data);
    Hessians out(
        batches->names(), batches->files(),
        [batches](const std::string& name) { return batches->inputs(name); },
        [batches, options](const std::string& name) {
          return batches->hessian(name, options.bits,
                                  options.start ? options.start(name) : std::nullopt);
        });
    if (!options.start)
      out.get_groups_ = [batches, options](const std::string& name, std::size_t groups) {
        return batches->hessians(name, options.bits, groups);
      };
    return out;
  }

  /// The names that there are.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] bool contains(const std::string& name) const {
    return std::ranges::find(names_, name) != names_.end();
  }
  /// Throws: `errc::unknown_name`, with the closest name there is; as the file or the activations.
  [[nodiscard]] Hessian get(const std::string& name) const {
    require(name);
    return get_(name);
  }
  /// The Hessians of the groups of a layer, whose inputs lie one group behind the other in the
  /// Hessian of that name: the same bits, unless tokens are left out, which activations leave out
  /// of the groups that are not finite only. Throws: as `get` and `HessianStack`.
  [[nodiscard]] HessianStack<Hessian> get_groups(const std::string& name,
                                                 std::size_t groups) const {
    require(name);
    if (get_groups_) return get_groups_(name, groups);
    return HessianStack<Hessian>::of_whole(get_(name), groups);
  }
  /// The inputs of a Hessian, which is not made for it. Throws: as `get`.
  [[nodiscard]] std::size_t inputs(const std::string& name) const {
    require(name);
    return inputs_(name);
  }
  /// The name of the Hessian of a weight: its own, or that of its module, without ".weight".
  [[nodiscard]] std::optional<std::string> name_for(const std::string& weight) const {
    if (contains(weight)) return weight;
    constexpr std::string_view ending = ".weight";
    if (weight.ends_with(ending))
      if (std::string module = weight.substr(0, weight.size() - ending.size()); contains(module))
        return module;
    return std::nullopt;
  }

  /// The files that they are read or made from.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept { return files_; }
  /// A short text that stands for those in memory; empty for files.
  [[nodiscard]] const std::string& digest() const noexcept { return digest_; }

 private:
  using Inputs = std::function<std::size_t(const std::string&)>;
  using Get = std::function<Hessian(const std::string&)>;
  using GetGroups = std::function<HessianStack<Hessian>(const std::string&, std::size_t)>;

  Hessians(std::vector<std::string> names, std::vector<std::filesystem::path> files, Inputs inputs,
           Get get)
      : names_(std::move(names)),
        files_(std::move(files)),
        inputs_(std::move(inputs)),
        get_(std::move(get)) {}

  void require(const std::string& name) const {
    if (!contains(name))
      detail::raise_expected(errc::unknown_name, "tq::Hessians", {"the name of a Hessian"},
                             {io::shown(name), did_you_mean(name, names_)});
  }

  std::vector<std::string> names_;
  std::vector<std::filesystem::path> files_;
  std::string digest_;
  Inputs inputs_;
  Get get_;
  GetGroups get_groups_;  // where groups need not come from the Hessian of all inputs
};

}  // namespace tq
