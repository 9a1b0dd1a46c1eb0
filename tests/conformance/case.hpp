// SPDX-License-Identifier: MIT
#pragma once
// The cases of a data folder, as its manifests list them.

#include "tolerance.hpp"

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace conformance {

/// A tensor, or another file, that a case names.
struct TensorFile {
  std::string name, dtype, encoding;  // empty where the manifest says nothing
  std::optional<std::vector<std::size_t>> shape;
  std::filesystem::path file, packed_file;

  /// The stored array. Throws: std::runtime_error when it is not what the manifest says.
  [[nodiscard]] Tensor load() const;
  /// The elements as float32, also those of bfloat16 codes. Throws as `load`, and for other types.
  [[nodiscard]] std::vector<float> floats() const;
  /// The bytes of a file. Throws: std::runtime_error when it cannot be read.
  [[nodiscard]] std::vector<std::byte> bytes() const;
  /// The bytes of `packed_file`, an array of uint8.
  [[nodiscard]] std::vector<std::byte> packed_bytes() const;
  /// The path of a file that exists. Throws: std::runtime_error.
  [[nodiscard]] const std::filesystem::path& existing() const;
};

struct Case {
  std::string group, id, op;
  nlohmann::json attributes;
  std::vector<TensorFile> inputs, outputs;
  Tolerance tolerance{nlohmann::json()};

  /// An attribute, or `fallback` where the case has none.
  template <class T>
  [[nodiscard]] T attribute(const char* name, T fallback) const {
    return attributes.contains(name) ? attributes.at(name).get<T>() : fallback;
  }
  /// Input `i`. Throws: std::runtime_error.
  [[nodiscard]] const TensorFile& input(std::size_t i) const;
  /// Input or output of that name. Throws: std::runtime_error.
  [[nodiscard]] const TensorFile& input(const std::string& name) const;
  [[nodiscard]] const TensorFile& output(const std::string& name) const;
};

/// The cases of every `folder`/*/manifest.json, groups in the order of their folders.
/// Throws: std::runtime_error for a folder that is none, without manifests, or with a broken one.
[[nodiscard]] std::vector<Case> read_cases(const std::filesystem::path& folder);

}  // namespace conformance
