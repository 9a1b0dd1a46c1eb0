// SPDX-License-Identifier: MIT
#pragma once
// Hessians: those of the layers of a model by name, wherever they come from.

#include <tq/bodies.hpp>
#include <tq/ptq/hessian.hpp>
#include <tq/ptq/hessian_stack.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
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
  TQ_API explicit Hessians(std::map<std::string, Hessian> all);
  /// The Hessians of a file that `HessianWriter` wrote. Throws: as `HessianFile`.
  [[nodiscard]] TQ_API static Hessians of_file(const std::filesystem::path& path);
  /// The Hessians of activations [..., inputs] in .npy, .npz and .safetensors files, and in folders
  /// of them: tensors of one name are batches of a layer, as `store::batch_of` names them. Throws:
  /// `errc::no_data`; `errc::io_failure`; `errc::malformed`; `errc::bad_argument` for other bits.
  [[nodiscard]] TQ_API static Hessians of_activations(const std::vector<std::string>& data,
                                                      const ActivationOptions& options = {});

  /// The names that there are.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] TQ_API bool contains(const std::string& name) const;
  /// Throws: `errc::unknown_name`, with the closest name there is; as the file or the activations.
  [[nodiscard]] TQ_API Hessian get(const std::string& name) const;
  /// The Hessians of the groups of a layer, whose inputs lie one group behind the other in the
  /// Hessian of that name: the same bits, unless tokens are left out, which activations leave out
  /// of the groups that are not finite only. Throws: as `get` and `HessianStack`.
  [[nodiscard]] TQ_API HessianStack<Hessian> get_groups(const std::string& name,
                                                        std::size_t groups) const;
  /// The inputs of a Hessian, which is not made for it. Throws: as `get`.
  [[nodiscard]] TQ_API std::size_t inputs(const std::string& name) const;
  /// The name of the Hessian of a weight: its own, or that of its module, without ".weight".
  [[nodiscard]] TQ_API std::optional<std::string> name_for(const std::string& weight) const;

  /// The files that they are read or made from.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept { return files_; }
  /// A short text that stands for those in memory; empty for files.
  [[nodiscard]] const std::string& digest() const noexcept { return digest_; }

 private:
  using Inputs = std::function<std::size_t(const std::string&)>;
  using Get = std::function<Hessian(const std::string&)>;
  using GetGroups = std::function<HessianStack<Hessian>(const std::string&, std::size_t)>;

  TQ_API Hessians(std::vector<std::string> names, std::vector<std::filesystem::path> files,
                  Inputs inputs, Get get);

  TQ_API void require(const std::string& name) const;

  std::vector<std::string> names_;
  std::vector<std::filesystem::path> files_;
  std::string digest_;
  Inputs inputs_;
  Get get_;
  GetGroups get_groups_;  // where groups need not come from the Hessian of all inputs
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/hessians.ipp>
#endif
