// SPDX-License-Identifier: MIT
#pragma once
// encode and decode: tensors to and from schemes that are values.

#include <tq/calibrate/mean_abs.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/real_tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/detail/block_ranges.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/code_kernels.hpp>
#include <tq/scheme/detail/encoded_codes.hpp>
#include <tq/scheme/detail/params_fit.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/visit.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tq {

/// What `encode` does with NaN and infinities.
enum class NonFinite : std::uint8_t {
  error,  ///< throws
  skip,  ///< ranges ignore them; infinities saturate, and NaN stays NaN in formats that have it and
         ///< becomes the code of 0 in the others
};

namespace detail {

// As kernels read them, from where they are stored. Throws: `errc::bad_argument` where there are
// none.
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

inline void require_all_finite(std::uint64_t nan, std::uint64_t infinite, std::size_t count) {
  if (nan + infinite != 0)
    raise(errc::not_finite, "tq::encode: expected finite values, got " + std::to_string(nan) +
                                " NaN and " + std::to_string(infinite) + " infinite among " +
                                std::to_string(count));
}

// Counts and refuses NaN and infinities.
template <Backend B, Real T, Executor E>
void require_all_finite(const TensorView<const T>& x, const E& executor) {
  std::atomic<std::uint64_t> nan = 0, infinite = 0;
  const Shape block = PerTensor::block(x.shape());
  for_each_task(executor, x.shape(), block, x.strides(), x.strides(), [&](auto&& each) {
    kernels::Extremes seen;
    each([&](const Run& r) {
      for_each_widened<B>(
          x.data(), r, [&](const float* floats, const Run& piece, std::size_t, std::size_t) {
            for (std::size_t k = 0; k < piece.count; ++k) {
              const auto row = piece.source + static_cast<std::ptrdiff_t>(k) * piece.source_stride;
              const kernels::Extremes e = B::min_max::run(floats + row, piece.length);
              seen.nan += e.nan;
              seen.infinite += e.infinite;
            }
          });
    });
    nan += seen.nan;
    infinite += seen.infinite;
  });
  require_all_finite(nan, infinite, x.size());
}

// In place of the range, where anything finite was seen, the one of the mean magnitude.
inline void set_mean_range(const MeanAbs& seen, Range& range) {
  using Params = QuantParams<ternary, PerTensor, Symmetric>;
  if (!seen.empty()) range = MeanAbsCalibrator{}.range<Params, numerics::onnx>(seen);
}

// In their place, the ranges of mean magnitudes.
template <Backend B, Real T, Executor E>
void set_mean_ranges(const TensorView<const T>& x, const AnyGranularity& g, std::span<Range> ranges,
                     const E& executor) {
  Observer<MeanAbs, AnyGranularity> observer(g);
  observer.template observe<B>(x, executor);
  for (std::size_t i = 0; i < observer.accumulators().size(); ++i)
    set_mean_range(observer.accumulators()[i], ranges[i]);
}

// The range of every block that its parameters are made of.
template <Backend B, Real T, Executor E>
[[nodiscard]] std::vector<Range> scheme_ranges(const TensorView<const T>& x, const QuantSpec& spec,
                                               const E& executor) {
  using BothEnds = QuantParams<uint8, PerTensor, Asymmetric>;
  const AnyGranularity granularity(spec);
  auto ranges = block_ranges<B, BothEnds>(x, granularity.block(x.shape()),
                                          granularity.grid(x.shape()).size(), executor);
  if (spec.calibrator == mean_abs_calibrator::name)
    set_mean_ranges<B>(x, granularity, ranges, executor);
  return ranges;
}

// Throws for scales, as they are stored, that the type cannot have.
template <class ScaleTypes>
void require_fitted(const EncodedTensor& t, const EncodedLayout& layout) {
  visit_scale<ScaleTypes>(t.spec, [&]<class Scale>() {
    require_values("tq::encode", t.scales.template get_if<Scales<Scale>>()->values(), layout);
  });
}

// Writes the codes of `x` to those of `out`, by its parameters.
template <class Types, class ScaleTypes, Backend B, Real T, Executor E>
void make_codes(const TensorView<const T>& x, EncodedTensor& out, const EncodedLayout& layout,
                const E& executor) {
  const Shape& shape = x.shape();
  const bool packs = layout.bits < 8;
  Buffer<std::byte> unpacked(packs ? shape.size() : 0);
  std::byte* codes = packs ? unpacked.data() : out.codes.data();
  const auto held = quantize_kernel_of<Types, B>(out.spec, {layout.codes.min, layout.codes.max});
  const auto params = driver_parameters<Types, ScaleTypes, B>(out);
  const Shape block = AnyGranularity(out.spec).block(shape);
  const Strides strides = row_major_strides(shape);
  const TensorOperands operands{x.data(), x.strides(), codes, strides};
  const driver::BoundKernel of_floats = held.get();
  if constexpr (std::same_as<T, float>) {
    sweep_tensor(of_floats, operands, shape, block, params, executor);
  } else {
    const driver::Kernel kernel = widening_kernel<B, T>(of_floats.kernel());
    sweep_tensor(driver::bind<driver::BoundKernel>({kernel}, of_floats), operands, shape, block,
                 params, executor);
  }
  if (packs) pack_codes<B>(unpacked.span(), out.codes.span(), layout);
}

template <class Types, class ScaleTypes, Backend B, Real T, Executor E>
[[nodiscard]] EncodedTensor encode_tensor(const TensorView<const T>& x, const QuantSpec& spec,
                                          NonFinite non_finite, const E& executor) {
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(spec, x.shape());
  if (non_finite == NonFinite::error) require_all_finite<B>(x, executor);
  EncodedTensor out{spec, x.shape(), Buffer<std::byte>(layout.code_bytes), {}, {}, {}};
  fit_parameters<Types, ScaleTypes>(out, scheme_ranges<B>(x, spec, executor));
  require_fitted<ScaleTypes>(out, layout);
  make_codes<Types, ScaleTypes, B>(x, out, layout, executor);
  return out;
}

}  // namespace detail

/// Quantizes `x` as `spec` says, each parameter block by its smallest and largest finite value (or
/// the mean magnitude of its finite values, see `QuantSpec::calibrator`); a block without one gets
/// the parameters of a block of zeros. The same bits as `calibrate` and `quantize` of the static
/// types, which cost less memory: here codes of less than 8 bits are unpacked once. Halves and
/// float64 are taken as float32, without a copy of them. Throws: as `encoded_layout`;
/// `errc::not_finite` for NaN or infinity under `NonFinite::error`; `errc::bad_scale` where a
/// scale, as it would be stored, is none that the type can have.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, Executor E = Serial, TensorSource X = ConstTensorView>
[[nodiscard]] EncodedTensor encode(const X& x, const QuantSpec& spec,
                                   NonFinite non_finite = NonFinite::error,
                                   const E& executor = {}) {
  return detail::encode_tensor<Types, ScaleTypes, B>(detail::view_of(x), spec, non_finite,
                                                     executor);
}

/// Writes the real values to `out`, row-major. Every part is checked first, so that a damaged file
/// cannot do harm. Throws: as `encoded_layout`; `errc::shape_mismatch` for a part of the wrong
/// size; `errc::bad_scale`; `errc::bad_zero_point`; `errc::not_finite` for an offset;
/// `errc::bad_argument` for a code the symmetry does not use, and for parameters that are not
/// stored as the scheme says.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, Executor E = Serial>
void decode(const EncodedTensor& tensor, std::span<float> out, const E& executor = {}) {
  const Shape& shape = tensor.shape;
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(tensor.spec, shape);
  const AnyGranularity granularity(tensor.spec);
  detail::require_parts<Types, ScaleTypes>(tensor, layout);
  detail::require_size("tq::decode", "an output", shape.size(), out.size());

  const bool packed = layout.bits < 8;
  Buffer<std::byte> unpacked(packed ? shape.size() : 0);
  if (packed) detail::unpack_codes<B>(tensor.codes.span(), unpacked.span(), layout);
  const std::span<const std::byte> codes = packed ? unpacked.span() : tensor.codes.span();
  detail::require_codes(codes, tensor, layout);
  const Strides strides = row_major_strides(shape);
  const auto dequantize = detail::dequantize_kernel_of<Types, B>(tensor.spec);
  detail::sweep_tensor(dequantize.get(), {codes.data(), strides, out.data(), strides}, shape,
                       granularity.block(shape),
                       detail::driver_parameters<Types, ScaleTypes, B>(tensor), executor);
}

/// The real values, row-major. Throws: as above.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
[[nodiscard]] std::vector<float> decode(const EncodedTensor& tensor) {
  // Checked before memory is asked for: a damaged shape could want any amount of it.
  detail::require_parts<Types, ScaleTypes>(
      tensor, encoded_layout<Types, ScaleTypes>(tensor.spec, tensor.shape));
  std::vector<float> out(tensor.shape.size());
  decode<Types, ScaleTypes>(tensor, std::span(out));
  return out;
}

/// The parameters of the scheme for these ranges, one for each parameter block: an encoded tensor
/// without a shape and without codes. Throws: as `visit`.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
[[nodiscard]] EncodedTensor fitted_parameters(const QuantSpec& spec,
                                              std::span<const Range> ranges) {
  EncodedTensor out;
  out.spec = spec;
  detail::fit_parameters<Types, ScaleTypes>(out, ranges);
  return out;
}

}  // namespace tq
