// SPDX-License-Identifier: MIT
#pragma once
// Names in configurations: modules as regular expressions, and the program that wrote the files.

#include <tq/checkpoints/written_model.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/error.hpp>
#include <tq/version.hpp>

#include <string>
#include <string_view>

namespace tq::io::detail {

/// A regular expression of Python that matches this text and no other.
[[nodiscard]] inline std::string literal(std::string_view text) {
  constexpr std::string_view special = ".^$*+?{}[]\\|()-";
  std::string out;
  for (const char c : text) {
    if (special.find(c) != special.npos) out += '\\';
    out += c;
  }
  return out;
}

/// The name of a float type in Python.
[[nodiscard]] constexpr const char* torch_name(DType dtype) noexcept {
  return dtype == DType::f16 ? "float16" : dtype == DType::bf16 ? "bfloat16" : "float32";
}

/// Throws `errc::unsupported` where the name of a layer that stays float is the beginning of the
/// name of a quantized layer: engines that match beginnings would leave that layer too.
inline void require_distinct_names(const char* format, const WrittenModel& model) {
  for (const std::string& left : model.left)
    for (const std::string& module : model.quantized)
      if (module.starts_with(left))
        tq::detail::raise_expected(errc::unsupported, format,
                                   {"names of layers that engines tell apart by their beginnings"},
                                   {left, ", which stays float, and ", module, ", which does not"});
}

/// "0.1.0".
[[nodiscard]] inline std::string version_text() {
  return std::to_string(TQ_VERSION_MAJOR) + "." + std::to_string(TQ_VERSION_MINOR) + "." +
         std::to_string(TQ_VERSION_PATCH);
}

}  // namespace tq::io::detail
