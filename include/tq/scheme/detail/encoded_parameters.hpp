// SPDX-License-Identifier: MIT
#pragma once
// Parameters of encoded tensors: as kernels read them, and checks while they are made.

#include <tq/calibrate/mean_abs.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/offsets.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/core/zero_points.hpp>
#include <tq/driver/span.hpp>
#include <tq/error.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/scheme/detail/seen_ranges.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/visit.hpp>

#include <cstddef>
#include <type_traits>

namespace tq::detail {

// The parameters as kernels read them, from where they are stored. Throws: `errc::bad_argument`
// where there are none.
template <class Types, class ScaleTypes, Backend B>
[[nodiscard]] driver::Parameters driver_parameters(const EncodedTensor& t) {
  driver::Parameters p;
  visit_scale<ScaleTypes>(t.spec, [&]<class Scale>() {
    p.scales = scale_plane<B>(require_stored<Scales<Scale>>("scales", t.scales, t));
    if constexpr (OffsetType<Scale>)
      if (const auto* offsets = t.offsets.template get_if<Scales<Scale>>())
        p.origins = offset_plane<B>(*offsets);
  });
  with_name<void>(t.spec.type, Types{}, [&]<class T>(std::type_identity<T>) {
    if constexpr (IntegerElement<T>)
      if (const auto* zero_points = t.zero_points.template get_if<ZeroPoints<T>>())
        p.origins = zero_point_plane<B>(*zero_points);
  });
  return p;
}

inline void require_all_finite(const NonFiniteCount& seen, std::size_t count) {
  if (seen.nan + seen.infinite != 0)
    raise_expected(errc::not_finite, "tq::encode", {"finite values"},
                   {seen.nan, " NaN and ", seen.infinite, " infinite among ", count});
}

// Replaces the range of a block, where anything finite was seen, by that of the mean magnitude.
inline void set_mean_range(const MeanAbs& seen, Range& range) {
  using Params = QuantParams<ternary, PerTensor, Symmetric>;
  if (!seen.empty()) range = MeanAbsCalibrator{}.range<Params, numerics::onnx>(seen);
}

// Throws for scales, as they are stored, that the type cannot have.
template <class ScaleTypes>
void require_fitted(const EncodedTensor& t, const EncodedLayout& layout) {
  visit_scale<ScaleTypes>(t.spec, [&]<class Scale>() {
    require_values("tq::encode", t.scales.template get_if<Scales<Scale>>()->values(), layout);
  });
}

}  // namespace tq::detail
