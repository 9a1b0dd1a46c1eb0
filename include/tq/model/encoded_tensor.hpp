// SPDX-License-Identifier: MIT
#pragma once
// encode and decode: tensors to and from schemes that are values.

#include <tq/calibrate/mean_abs.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/run.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/model/any_granularity.hpp>
#include <tq/model/code_kernels.hpp>
#include <tq/model/encoded_layout.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/model/scheme_fit.hpp>
#include <tq/model/visit.hpp>
#include <tq/numeric/exponent_format.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/checks.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

/// What `encode` does with NaN and infinities.
enum class NonFinite : std::uint8_t {
  error,  ///< throws
  skip,  ///< ranges ignore them; infinities saturate, and NaN stays NaN in formats that have it and
         ///< becomes the code of 0 in the others
};

namespace detail {

// Calls f(code_type{}) for the type that codes of at most 8 bits have in memory.
template <class F>
void with_small_code(const EncodedLayout& layout, F&& f) {
  return layout.type.min < 0 ? f(std::int8_t{}) : f(std::uint8_t{});
}

// `pack` and `unpack` of `LowFirst` for a width that is not in a type.
template <Backend B>
void pack_codes(std::span<const std::byte> codes, std::span<std::byte> out,
                const EncodedLayout& layout) {
  with_small_code(layout, [&]<class Code>(Code) {
    B::template bit_pack<Code>::pack(reinterpret_cast<const Code*>(codes.data()),
                                     reinterpret_cast<unsigned char*>(out.data()), codes.size(),
                                     layout.bits, true);
  });
}
template <Backend B>
void unpack_codes(std::span<const std::byte> bytes, std::span<std::byte> out,
                  const EncodedLayout& layout) {
  with_small_code(layout, [&]<class Code>(Code) {
    B::template bit_pack<Code>::unpack(reinterpret_cast<const unsigned char*>(bytes.data()),
                                       reinterpret_cast<Code*>(out.data()), out.size(), layout.bits,
                                       true);
  });
}

template <Backend B>
[[nodiscard]] driver::Parameters driver_parameters(const EncodedTensor& t) noexcept {
  driver::Parameters p;
  p.scales = driver::plain<B>(t.scales.data());
  if (!t.zero_points.empty()) p.origins = driver::plain<B>(t.zero_points.data());
  return p;
}

// Throws for a code that the symmetry does not use.
inline void require_codes(std::span<const std::byte> codes, const EncodedTensor& t,
                          const EncodedLayout& layout) {
  const auto check = [&]<class Code>(Code) {
    for (std::size_t i = 0; i < codes.size(); i += sizeof(Code)) {
      Code code;
      std::memcpy(&code, codes.data() + i, sizeof(Code));
      if (code < layout.codes.min || code > layout.codes.max)
        raise(errc::bad_argument, "tq::decode: expected codes in [" +
                                      std::to_string(layout.codes.min) + ", " +
                                      std::to_string(layout.codes.max) + "] for " +
                                      to_string(t.spec) + ", got " + std::to_string(code));
    }
  };
  if (layout.codes == layout.type) return;
  if (layout.bits <= 8) with_small_code(layout, check);
  else if (layout.type.min < 0) check(std::int16_t{});
  else check(std::uint16_t{});
}

inline void require_all_finite(std::uint64_t nan, std::uint64_t infinite, std::size_t count) {
  if (nan + infinite != 0)
    raise(errc::not_finite, "tq::encode: expected finite values, got " + std::to_string(nan) +
                                " NaN and " + std::to_string(infinite) + " infinite among " +
                                std::to_string(count));
}

// The range of every block; a block without a finite value has that of zeros.
template <Executor E>
[[nodiscard]] std::vector<Range> block_ranges(const ConstTensorView& x, const AnyGranularity& g,
                                              NonFinite non_finite, const E& executor) {
  std::vector<Range> ranges(g.grid(x.shape()).size(), Range{0.0f, 0.0f});
  Observer<MinMax, AnyGranularity> observer(g);
  observer.observe(x, executor);
  std::uint64_t nan = 0, infinite = 0;
  for (std::size_t i = 0; i < observer.accumulators().size(); ++i) {
    const MinMax& seen = observer.accumulators()[i];
    nan += seen.nan_count();
    infinite += seen.infinite_count();
    if (!seen.empty()) ranges[i] = seen.range();
  }
  if (non_finite == NonFinite::error) require_all_finite(nan, infinite, x.size());
  return ranges;
}

// In place of the range, where anything finite was seen, the one of the mean magnitude.
inline void set_mean_range(const MeanAbs& seen, Range& range) {
  using Params = QuantParams<ternary, PerTensor, Symmetric>;
  if (!seen.empty()) range = MeanAbsCalibrator{}.range<Params, numerics::onnx>(seen);
}

// In their place, the ranges of mean magnitudes.
template <Executor E>
void mean_ranges(const ConstTensorView& x, const AnyGranularity& g, std::span<Range> ranges,
                 const E& executor) {
  Observer<MeanAbs, AnyGranularity> observer(g);
  observer.observe(x, executor);
  for (std::size_t i = 0; i < observer.accumulators().size(); ++i)
    set_mean_range(observer.accumulators()[i], ranges[i]);
}

// Calls f(ranges) for stretches of them, at least once: what is made of one on the way stays in the
// cache.
template <class F>
void for_each_stretch(std::span<const Range> ranges, F&& f) {
  constexpr std::size_t size = 4096;
  std::size_t i = 0;
  do f(ranges.subspan(i, std::min(size, ranges.size() - i)));
  while ((i += size) < ranges.size());
}

template <class Scale>
void append_scales(EncodedTensor& to, const Scales<Scale>& scales) {
  to.scales.insert(to.scales.end(), scales.values().begin(), scales.values().end());
  StoredScales stored = store_scales<Scale>(scales);
  to.stored.codes.insert(to.stored.codes.end(), stored.codes.begin(), stored.codes.end());
  to.stored.factors = std::move(stored.factors);
  to.stored.offset = stored.offset;
}

// The stored scales of these ranges: `Scales::fit`, of two levels under the scale of the tensor,
// `over_all`.
template <class Scale>
[[nodiscard]] Scales<Scale> fit_stored(std::span<const Range> ranges, const SchemeFit& fit,
                                       [[maybe_unused]] float over_all) {
  if constexpr (std::same_as<Scale, Unscaled>) {
    return Scales<Scale>(ranges.size());
  } else if constexpr (std::same_as<Scale, float>) {
    return fit.exact(ranges);
  } else if constexpr (std::same_as<Scale, DoubleQuantized>) {
    return Scales<Scale>::nearest(fit.exact_with_zeros(ranges), ranges, fit.rules);
  } else if constexpr (is_two_level<Scale>) {
    return Scales<Scale>::under(fit.reach, over_all, ranges, fit.rules);
  } else if constexpr (std::same_as<typename Scale::format, ExponentFormat>) {
    std::vector<typename Scale::code_type> codes(ranges.size());
    if (fit.powers != nullptr) fit.powers(ranges, codes);
    else power_codes<ExponentFloor>(fit.exact(ranges), codes);
    return Scales<Scale>::kept(std::move(codes), ranges, fit.rules);
  } else {
    return Scales<Scale>::nearest(fit.exact(ranges), ranges, fit.rules);
  }
}

// Scales for the ranges of the blocks. Those of one level are made block by block; others under one
// scale or one mean.
template <class Scale>
void append_all_scales(EncodedTensor& out, std::span<const Range> ranges, const SchemeFit& fit) {
  float over_all = 1;
  if constexpr (is_two_level<Scale>)
    over_all = Scales<Scale>::tensor_scale_of(fit.reach, ranges, fit.rules);
  const auto append = [&](std::span<const Range> some) {
    append_scales(out, fit_stored<Scale>(some, fit, over_all));
  };
  if constexpr (std::same_as<Scale, DoubleQuantized>) append(ranges);
  else for_each_stretch(ranges, append);
}

// Scales and zero points for the ranges of the blocks: `fit_params`.
template <class Types, class ScaleTypes>
void fit_scales(EncodedTensor& out, std::span<const Range> ranges) {
  const SchemeFit& fit = scheme_fit<Types>(out.spec);
  out.scales.clear();
  out.stored.codes.clear();
  visit_scale<ScaleTypes>(out.spec,
                          [&]<class Scale>() { append_all_scales<Scale>(out, ranges, fit); });
  out.zero_points.clear();
  if (fit.zero_points == nullptr) return;
  const std::span<const float> scales(out.scales);
  for_each_stretch(ranges, [&](std::span<const Range> some) {
    const auto first = static_cast<std::size_t>(some.data() - ranges.data());
    const std::vector<std::int32_t> made =
        fit.zero_points(some, scales.subspan(first, some.size()));
    out.zero_points.insert(out.zero_points.end(), made.begin(), made.end());
  });
}

}  // namespace detail

/// Quantizes `x` as `spec` says, each parameter block by its smallest and largest finite value (or
/// the mean magnitude of its finite values, see `QuantSpec::calibrator`); a block without one gets
/// the parameters of a block of zeros. The same bits as `calibrate` and `quantize` of the static
/// types, which cost less memory: here codes of less than 8 bits are unpacked once.
/// Throws: as `encoded_layout`; `errc::not_finite` for NaN or infinity under `NonFinite::error`;
/// `errc::bad_scale` where a scale, as it would be stored, is none that the type can have.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, Executor E = Serial>
[[nodiscard]] EncodedTensor encode(const ConstTensorView& x, const QuantSpec& spec,
                                   NonFinite non_finite = NonFinite::error,
                                   const E& executor = {}) {
  const Shape& shape = x.shape();
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(spec, shape);
  const AnyGranularity granularity(spec);
  std::vector<Range> ranges = detail::block_ranges(x, granularity, non_finite, executor);
  if (spec.calibrator == detail::mean_abs_calibrator::name)
    detail::mean_ranges(x, granularity, ranges, executor);
  EncodedTensor out{spec, shape, std::vector<std::byte>(layout.code_bytes), {}, {}, {}};
  detail::fit_scales<Types, ScaleTypes>(out, ranges);
  detail::require_scales("tq::encode", out, layout);

  const bool packs = layout.bits < 8;
  Buffer<std::byte> unpacked(packs ? shape.size() : 0);
  std::byte* codes = packs ? unpacked.data() : out.codes.data();
  const auto quantize = detail::quantize_kernel_of<Types, B>(spec, layout.codes);
  const Strides strides = row_major_strides(shape);
  detail::sweep_tensor(quantize.get(), {x.data(), x.strides(), codes, strides}, shape,
                       granularity.block(shape), detail::driver_parameters<B>(out), executor);
  if (packs) detail::pack_codes<B>(unpacked.span(), out.codes, layout);
  return out;
}

/// Writes the real values to `out`, row-major, by `tensor.scales`. Every part is checked first, so
/// that a damaged file cannot do harm. Throws: as `encoded_layout`; `errc::shape_mismatch` for a
/// part of the wrong size; `errc::bad_scale`; `errc::bad_zero_point`; `errc::bad_argument` for a
/// code the symmetry does not use.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, Executor E = Serial>
void decode(const EncodedTensor& tensor, std::span<float> out, const E& executor = {}) {
  const Shape& shape = tensor.shape;
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(tensor.spec, shape);
  const AnyGranularity granularity(tensor.spec);
  detail::require_parts(tensor, layout);
  detail::require_size("tq::decode", "an output", shape.size(), out.size());

  const bool packed = layout.bits < 8;
  Buffer<std::byte> unpacked(packed ? shape.size() : 0);
  if (packed) detail::unpack_codes<B>(tensor.codes, unpacked.span(), layout);
  const std::span<const std::byte> codes = packed ? unpacked.span() : std::span(tensor.codes);
  detail::require_codes(codes, tensor, layout);
  const Strides strides = row_major_strides(shape);
  const auto dequantize = detail::dequantize_kernel_of<Types, B>(tensor.spec);
  detail::sweep_tensor(dequantize.get(), {codes.data(), strides, out.data(), strides}, shape,
                       granularity.block(shape), detail::driver_parameters<B>(tensor), executor);
}

/// The real values, row-major. Throws: as above.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
[[nodiscard]] std::vector<float> decode(const EncodedTensor& tensor) {
  // Checked before memory is asked for: a damaged shape could want any amount of it.
  detail::require_parts(tensor, encoded_layout<Types, ScaleTypes>(tensor.spec, tensor.shape));
  std::vector<float> out(tensor.shape.size());
  decode<Types, ScaleTypes>(tensor, std::span(out));
  return out;
}

}  // namespace tq
