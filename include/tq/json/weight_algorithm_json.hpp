// SPDX-License-Identifier: MIT
#pragma once
// JSON of weight algorithms.

#include <tq/bodies.hpp>
#include <tq/json/detail/json_fields.hpp>
#include <tq/json/json_text.hpp>
#include <tq/scheme/weight_algorithm.hpp>

#include <string_view>

namespace tq::io {

namespace detail {

// The algorithm of a field of `fields`: a name, or an object.
[[nodiscard]] TQ_API WeightAlgorithm algorithm_from_field(JsonFields& fields, const char* key,
                                                          std::string_view where,
                                                          std::string_view path);

}  // namespace detail

/// "rtn", or {"name": "gptq", "order": "activation", "scales": "weighted", "damping": 0.01,
/// "sweeps": 2} with the fields that the algorithm has: a name where all are as they are by
/// default, and else those that are not.
[[nodiscard]] TQ_API Json algorithm_to_json(const WeightAlgorithm& algorithm);

/// The algorithm of such a value. `path` names the document in messages. Throws:
/// `errc::malformed` for a field that is unknown, out of range or of the wrong type, or that the
/// algorithm does not have; `errc::unknown_name`.
[[nodiscard]] TQ_API WeightAlgorithm algorithm_from_json(const Json& json,
                                                         std::string_view path = "algorithm");

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/json/weight_algorithm_json.ipp>
#endif
