// SPDX-License-Identifier: MIT
#pragma once
// Which algorithms search scales, and the schemes that algorithms have no use for.

#include <tq/core/symmetry.hpp>
#include <tq/error.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/weight_algorithm.hpp>

#include <string>

namespace tq::detail {

/// True for an algorithm with scales that are searched.
[[nodiscard]] inline bool searches_scales(const WeightAlgorithm& algorithm) noexcept {
  return algorithm.name == "rtn-weighted" ||
         (algorithm.name == "gptq" && algorithm.scales == "weighted");
}

/// Throws `errc::unsupported` for a scheme that names a calibrator, which would have no part in
/// scales that are searched.
inline void require_no_calibrator(const std::string& where, const QuantSpec& spec) {
  if (const QuantSpec plain; spec.calibrator != plain.calibrator)
    raise_expected(errc::unsupported, where,
                   {"calibrator ", plain.calibrator, " beside scales that are searched"},
                   {spec.calibrator, "; `scales` min_max of gptq takes it"});
}

/// Throws `errc::unsupported` for a scheme without float offsets.
inline void require_float_offsets(const std::string& where, const QuantSpec& spec) {
  if (spec.symmetry != FloatOffset::name)
    raise_expected(errc::unsupported, where, {"symmetry float_offset for algorithm hqq"},
                   {to_string(spec)});
}

}  // namespace tq::detail
