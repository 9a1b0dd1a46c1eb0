// SPDX-License-Identifier: MIT
#pragma once
// PrecisionModel: the tensors of a model, and what every scheme would cost and lose in each.

#include <tq/bodies.hpp>
#include <tq/error.hpp>
#include <tq/select/detail/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

/// The scheme of a tensor that stays as it is.
inline constexpr std::string_view float_scheme = "float";

/// Where an error or a time comes from.
enum class Evidence : std::uint8_t {
  measured,
  prior,  ///< somebody's expectation of this kind of operation, not of this tensor
};

[[nodiscard]] constexpr std::string_view to_string(Evidence evidence) noexcept {
  return evidence == Evidence::measured ? "measured" : "prior";
}

/// The work whose time a candidate has.
enum class TimedWork : std::uint8_t {
  none,                   ///< nothing was measured
  decode,                 ///< decoding all weights; of float, copying them
  lookup,                 ///< decoding some rows of an embedding, in proportion
  float_product,          ///< `FloatLinear`
  int8_product,           ///< `QuantizedLinear`
  grouped_int8_product,   ///< `GroupedLinear<Int8PerRow>`
  grouped_float_product,  ///< `GroupedLinear<FloatActivations>`
  decoded_product,        ///< decoding all weights, then a product of floats
};

[[nodiscard]] constexpr std::string_view to_string(TimedWork work) noexcept {
  switch (work) {
    case TimedWork::none: return "none";
    case TimedWork::decode: return "decode";
    case TimedWork::lookup: return "lookup";
    case TimedWork::float_product: return "float_product";
    case TimedWork::int8_product: return "int8_product";
    case TimedWork::grouped_int8_product: return "grouped_int8_product";
    case TimedWork::grouped_float_product: return "grouped_float_product";
    case TimedWork::decoded_product: break;
  }
  return "decoded_product";
}

/// The work of that name, or nothing.
[[nodiscard]] constexpr std::optional<TimedWork> find_timed_work(std::string_view name) noexcept {
  for (int i = 0; i <= static_cast<int>(TimedWork::decoded_product); ++i)
    if (to_string(static_cast<TimedWork>(i)) == name) return static_cast<TimedWork>(i);
  return std::nullopt;
}

/// A scheme for a tensor.
struct PrecisionCandidate {
  std::string scheme;       ///< a name, or `float_scheme`
  std::uint64_t bytes = 0;  ///< codes, scales, zero points and padding
  double error = 0;  ///< of all candidates in one unit that adds up: sum d^2 / sum w^2, or the rise
                     ///< of a loss
  double seconds = 0;  ///< of one call; 0 where not measured
  Evidence evidence = Evidence::measured;
  TimedWork timed = TimedWork::none;  ///< what takes the seconds
};

/// A tensor, and the schemes for it.
struct PrecisionNode {
  std::string name;
  std::uint64_t weights = 0;                   ///< elements
  std::vector<PrecisionCandidate> candidates;  ///< the first is `float_scheme`
};

/// Everything a selection is made from. Ties and edges are those of `SelectionProblem`; tied nodes
/// keep the schemes that all of them have.
struct PrecisionModel {
  std::vector<PrecisionNode> nodes;
  std::vector<std::vector<std::size_t>> ties{};
  std::vector<SelectionEdge> edges{};
};

namespace detail {

[[nodiscard]] TQ_API const PrecisionCandidate* find_candidate(const PrecisionNode& node,
                                                              std::string_view scheme);

// The problem of a model, whose nodes and edges are aligned on the way.
[[nodiscard]] TQ_API SelectionProblem problem_of(PrecisionModel& model);

}  // namespace detail

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/select/precision_model.ipp>
#endif
