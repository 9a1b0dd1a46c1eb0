// SPDX-License-Identifier: MIT
#pragma once
// GgufMix: which weights of a GGUF file get which type.

#include <tq/bodies.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/model/name_expression.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tq {

/// Layers by their numbers.
struct GgufLayers {
  enum class Kind : std::uint8_t { all, first, first_part, more };
  Kind kind = Kind::all;
  std::size_t count = 0;  ///< of the first ones, or the divisor of a part

  /// True for layer `i` of `n`. `more` are the first and the last eighth, and every third between.
  [[nodiscard]] constexpr bool contain(std::size_t i, std::size_t n) const noexcept {
    switch (kind) {
      case Kind::first: return i < count;
      case Kind::first_part: return i < n / count;
      case Kind::more: return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
      default: return true;
    }
  }
};

/// A rule: the type of the weights that fit all of its conditions.
struct GgufRule {
  layouts::gguf::Type type = layouts::gguf::Type::f32;
  std::string group;                        ///< of the weights, or empty
  std::optional<NameExpression> tensors{};  ///< that has a match in the name
  GgufLayers layers{};
  std::string architecture;                          ///< of the model, or empty
  std::optional<std::uint64_t> experts{}, blocks{};  ///< numbers of the model
  std::uint64_t min_gqa = 0;                         ///< least query heads that share a key
  std::optional<bool> importance{};                  ///< whether there is an importance matrix
  bool stacked = false;                              ///< only tensors of several matrices
};

/// A role of weights.
struct GgufGroup {
  std::string name;
  NameExpression tensors;
  bool is_counted = false;  ///< layers are the numbers of its tensors, not of blocks
};

/// Which tensors of a model become which type. The first rule that fits decides, `type` else.
struct GgufMix {
  layouts::gguf::Type type = layouts::gguf::Type::f32;
  std::uint32_t file_type = 0;  ///< under the key general.file_type
  std::vector<GgufRule> rules{};
  std::vector<GgufGroup> groups{};
  std::vector<NameExpression> floats{};   ///< weights that stay as they are
  std::vector<NameExpression> weights{};  ///< the only tensors that are quantized
  std::map<layouts::gguf::Type, layouts::gguf::Type> fallbacks{};  ///< for rows of broken blocks
};

/// Names of the mixes that tq ships: "q4_k_m" and its like. A mix has the rules that llama-quantize
/// has for the name; "q3_k", "q4_k" and "q5_k" are one type for all weights but the output.
[[nodiscard]] TQ_API std::vector<std::string> gguf_mix_names();

/// The mix of that name, in upper or lower case. Throws: `errc::unknown_name`, with all names.
[[nodiscard]] TQ_API GgufMix gguf_mix(const std::string& name);

/// A mix of a JSON file: an object with the fields of a shipped mix ("type", "file_type", "rules").
/// Throws: `errc::malformed` and `errc::unknown_name`, naming the field; `errc::io_failure`.
[[nodiscard]] TQ_API GgufMix read_gguf_mix(const std::filesystem::path& file);

namespace store::detail {

// Types that a weight can get.
[[nodiscard]] TQ_API bool is_gguf_target(layouts::gguf::Type type);

}  // namespace store::detail

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/gguf_mix.ipp>
#endif
