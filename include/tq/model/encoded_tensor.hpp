// SPDX-License-Identifier: MIT
#pragma once
// EncodedTensor: a quantized tensor whose scheme is a value, for files and tools; encode and
// decode.

#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/model/visit.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// Codes, scales and zero points of a tensor of `shape`, without a static type.
struct EncodedTensor {
  QuantSpec spec;
  Shape shape;
  std::vector<std::byte> codes;  ///< row-major, packed `LowFirst`
  std::vector<float> scales;     ///< row-major over the grid of parameter blocks
  std::vector<std::int32_t>
      zero_points;  ///< as many as scales, or none where the symmetry has none
};

/// What `encode` does with NaN and infinities.
enum class NonFinite : std::uint8_t {
  error,  ///< throws
  skip,   ///< ranges ignore them; NaN becomes the code of 0, infinities the codes at the ends
};

/// What the parts of an encoded tensor look like, known without its data.
struct EncodedLayout {
  std::size_t code_bytes = 0;
  Shape scales;       ///< the grid of parameter blocks
  CodeRange codes{};  ///< the codes in use, and the range of zero points
  CodeRange type{};   ///< every code of the type
  int bits = 0;       ///< of one code
  bool has_zero_points = false;

  /// Bytes of one zero point when it is stored as wide as a code in memory; 0 where there is none.
  [[nodiscard]] std::size_t zero_point_bytes() const noexcept {
    return !has_zero_points ? 0 : bits > 8 ? 2 : 1;
  }
  /// Bytes of codes, float32 scales and zero points together.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return code_bytes + scales.size() * (sizeof(float) + zero_point_bytes());
  }
};

namespace detail {

// The blocks of a granularity chosen at run time. Code that only needs the blocks is then
// instantiated once, not once for every granularity and type.
class AnyGranularity {
 public:
  static constexpr std::string_view name = "any";
  // Throws: `errc::bad_axis`. Precondition: a valid spec.
  AnyGranularity(const char* function, const QuantSpec& spec, const Shape& shape) : shape_(shape) {
    with_name<void>(spec.granularity, all_granularities{}, [&]<class G>(std::type_identity<G>) {
      const G g = granularity_from<G>::make(spec);
      if (const errc e = g.check(shape); e != errc::ok)
        raise(e, std::string(function) + ": expected " +
                     (spec.uses_axis()
                          ? "a tensor with an axis " + std::to_string(spec.axis_or_default())
                      : spec.uses_block() ? std::string("a tensor of rank 2 or more")
                                          : std::string("a tensor of rank 1 or more")) +
                     " for " + spec.granularity + ", got shape " + to_string(shape));
      block_ = g.block(shape);
      grid_ = param_shape(g, shape);
      // One parameter per tensor, whatever its extents; a rank keeps the file format readable.
      if (spec.granularity == PerTensor::name) grid_ = Shape{1};
    });
  }
  [[nodiscard]] errc check(const Shape& shape) const noexcept {
    return shape == shape_ ? errc::ok : errc::shape_mismatch;
  }
  [[nodiscard]] Shape block(const Shape&) const noexcept { return block_; }
  [[nodiscard]] const Shape& grid() const noexcept { return grid_; }

 private:
  Shape shape_, block_, grid_;
};

// Calls f(code_type{}) for the type that codes have in memory.
template <class F>
void with_code_type(const EncodedLayout& layout, F&& f) {
  const bool is_signed = layout.type.min < 0;
  if (layout.bits > 8) return is_signed ? f(std::int16_t{}) : f(std::uint16_t{});
  return is_signed ? f(std::int8_t{}) : f(std::uint8_t{});
}

// `pack` and `unpack` of `LowFirst` for a width that is not in a type.
template <Backend B, class Code>
void pack_codes(std::span<const Code> codes, std::span<std::byte> out, int bits) {
  if constexpr (sizeof(Code) == 1)
    if (bits != 8)
      return B::template bit_pack<Code>::pack(
          codes.data(), reinterpret_cast<unsigned char*>(out.data()), codes.size(), bits, true);
  if (!codes.empty()) std::memcpy(out.data(), codes.data(), out.size());
}
template <Backend B, class Code>
void unpack_codes(std::span<const std::byte> bytes, std::span<Code> out, int bits) {
  if constexpr (sizeof(Code) == 1)
    if (bits != 8)
      return B::template bit_pack<Code>::unpack(
          reinterpret_cast<const unsigned char*>(bytes.data()), out.data(), out.size(), bits, true);
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
}

[[nodiscard]] inline kernels::Span kernel_span(const Run& r, const EncodedTensor& t) noexcept {
  return kernel_span(r, t.scales.data(), t.zero_points.empty() ? nullptr : t.zero_points.data());
}

inline void require_count(const char* what, std::size_t expected, std::size_t got,
                          const EncodedTensor& t) {
  if (expected != got)
    raise(errc::shape_mismatch, "tq::decode: expected " + std::to_string(expected) + " " + what +
                                    " for shape " + to_string(t.shape) + " as " +
                                    to_string(t.spec) + ", got " + std::to_string(got));
}

// Throws unless every part of `t` is what `layout` promises.
inline void require_parts(const EncodedTensor& t, const EncodedLayout& layout) {
  const std::size_t n = layout.scales.size();
  require_count("bytes of codes", layout.code_bytes, t.codes.size(), t);
  require_count("scales", n, t.scales.size(), t);
  require_count("zero points", layout.has_zero_points ? n : 0, t.zero_points.size(), t);
  for (std::size_t i = 0; i < n; ++i)
    if (!valid_scale(t.scales[i]))
      raise(errc::bad_scale, "tq::decode: expected positive finite scales, got " +
                                 std::to_string(t.scales[i]) + " at parameter " +
                                 std::to_string(i));
  const auto [low, high] = layout.codes;
  for (std::size_t i = 0; i < t.zero_points.size(); ++i)
    if (t.zero_points[i] < low || t.zero_points[i] > high)
      raise(errc::bad_zero_point, "tq::decode: expected zero points in [" + std::to_string(low) +
                                      ", " + std::to_string(high) + "], got " +
                                      std::to_string(t.zero_points[i]) + " at parameter " +
                                      std::to_string(i));
}

// The range of every block; a block without a finite value has that of zeros.
[[nodiscard]] inline std::vector<Range> block_ranges(ConstTensorView x, const AnyGranularity& g,
                                                     NonFinite non_finite) {
  std::vector<Range> ranges(g.grid().size(), Range{0.0f, 0.0f});
  Observer<MinMax, AnyGranularity> observer(g);
  observer.observe(x);
  std::uint64_t nan = 0, infinite = 0;
  for (std::size_t i = 0; i < observer.slots().size(); ++i) {
    const MinMax& seen = observer.slots()[i];
    nan += seen.nan_count();
    infinite += seen.infinite_count();
    if (!seen.empty()) ranges[i] = seen.range();
  }
  if (non_finite == NonFinite::error && nan + infinite != 0)
    raise(errc::not_finite, "tq::encode: expected finite values, got " + std::to_string(nan) +
                                " NaN and " + std::to_string(infinite) + " infinite among " +
                                std::to_string(x.size()));
  return ranges;
}

}  // namespace detail

/// The parts of a tensor of `shape` encoded as `spec`.
/// Throws: as `visit`; `errc::bad_axis` when the granularity does not fit the shape.
template <class Types = all_integers>
[[nodiscard]] EncodedLayout encoded_layout(const QuantSpec& spec, const Shape& shape) {
  EncodedLayout layout;
  visit_type<Types>(spec, [&]<class T, class S>() {
    layout.code_bytes = LowFirst::bytes_for<T>(shape.size());
    layout.codes = S::template codes<T>();
    layout.type = {T::qmin, T::qmax};
    layout.bits = T::bits;
    layout.has_zero_points = S::has_zero_point;
  });
  layout.scales = detail::AnyGranularity("tq::encoded_layout", spec, shape).grid();
  return layout;
}

/// Quantizes `x` as `spec` says, each parameter block by its smallest and largest finite value; a
/// block without one gets the parameters of a block of zeros. The same bits as `calibrate` and
/// `quantize` of the static types, which cost less memory: here the codes are unpacked once.
/// Throws: as `encoded_layout`; `errc::not_finite` for NaN or infinity under `NonFinite::error`.
template <class Types = all_integers, Backend B = default_backend, Executor E = Serial>
[[nodiscard]] EncodedTensor encode(ConstTensorView x, const QuantSpec& spec,
                                   NonFinite non_finite = NonFinite::error,
                                   const E& executor = {}) {
  const EncodedLayout layout = encoded_layout<Types>(spec, x.shape());
  const detail::AnyGranularity granularity("tq::encode", spec, x.shape());
  const std::vector<Range> ranges = detail::block_ranges(x, granularity, non_finite);
  EncodedTensor out{spec, x.shape(), std::vector<std::byte>(layout.code_bytes), {}, {}};
  out.scales.reserve(ranges.size());
  visit_numerics(spec.numerics, [&]<class N>(const N& numerics) {
    visit_type<Types>(spec, [&]<class T, class S>() {
      for (const Range r : ranges) {
        const Affine a = S::template affine<T, typename N::degenerate_type>(r);
        out.scales.push_back(a.scale);
        if constexpr (S::has_zero_point) out.zero_points.push_back(a.zero_point);
      }
    });
    detail::with_code_type(layout, [&]<class Code>(Code) {
      Buffer<Code> codes(x.size());
      const kernels::Codes range{layout.codes.min, layout.codes.max};
      detail::for_each_task(executor, x.shape(), granularity.block(x.shape()), x.strides(),
                            row_major_strides(x.shape()), [&](auto&& each) {
                              each([&](const Run& r) {
                                B::template quantize<Code, N>::run(
                                    x.data() + r.source, codes.data() + r.target,
                                    detail::kernel_span(r, out), range, numerics,
                                    static_cast<std::uint64_t>(r.target), false);
                              });
                            });
      detail::pack_codes<B, Code>(codes.span(), out.codes, layout.bits);
    });
  });
  return out;
}

/// Writes the real values to `out`, row-major. Every part is checked first, so that a damaged file
/// cannot do harm. Throws: as `encoded_layout`; `errc::shape_mismatch` for a part of the wrong
/// size; `errc::bad_scale`; `errc::bad_zero_point`; `errc::bad_argument` for a code the symmetry
/// does not use.
template <class Types = all_integers, Backend B = default_backend, Executor E = Serial>
void decode(const EncodedTensor& tensor, std::span<float> out, const E& executor = {}) {
  const Shape& shape = tensor.shape;
  const EncodedLayout layout = encoded_layout<Types>(tensor.spec, shape);
  const detail::AnyGranularity granularity("tq::decode", tensor.spec, shape);
  detail::require_parts(tensor, layout);
  detail::require_size("tq::decode", "an output", shape.size(), out.size());
  detail::with_code_type(layout, [&]<class Code>(Code) {
    Buffer<Code> codes(shape.size());
    detail::unpack_codes<B, Code>(tensor.codes, codes.span(), layout.bits);
    if (layout.codes != layout.type)
      for (const Code code : codes.span())
        if (code < layout.codes.min || code > layout.codes.max)
          raise(errc::bad_argument, "tq::decode: expected codes in [" +
                                        std::to_string(layout.codes.min) + ", " +
                                        std::to_string(layout.codes.max) + "] for " +
                                        to_string(tensor.spec) + ", got " + std::to_string(code));
    const Strides strides = row_major_strides(shape);
    detail::for_each_task(
        executor, shape, granularity.block(shape), strides, strides, [&](auto&& each) {
          each([&](const Run& r) {
            B::template dequantize<Code>::run(codes.data() + r.source, out.data() + r.target,
                                              detail::kernel_span(r, tensor), false);
          });
        });
  });
}

/// The real values, row-major. Throws: as above.
template <class Types = all_integers>
[[nodiscard]] std::vector<float> decode(const EncodedTensor& tensor) {
  // Checked before memory is asked for: a damaged shape could want any amount of it.
  detail::require_parts(tensor, encoded_layout<Types>(tensor.spec, tensor.shape));
  std::vector<float> out(tensor.shape.size());
  decode<Types>(tensor, out);
  return out;
}

}  // namespace tq
