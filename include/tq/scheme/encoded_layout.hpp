// SPDX-License-Identifier: MIT
#pragma once
// EncodedTensor: a quantized tensor whose scheme is a value, for files and tools; and
// EncodedLayout, what its parts look like.

#include <tq/bodies.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/detail/require_parameters.hpp>
#include <tq/core/element.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/zero_points.hpp>
#include <tq/error.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/scheme_facts.hpp>
#include <tq/scheme/detail/stored_numbers.hpp>
#include <tq/scheme/detail/stored_scales.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/visit.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq {

/// A `QuantizedTensor` whose type, granularity, symmetry and scale are values: in memory the same,
/// so that `to_encoded` and `to_quantized` copy nothing. Whoever sets its parts need not check
/// them: what reads them does.
struct EncodedTensor {
  QuantSpec spec;
  Shape shape;
  Buffer<std::byte> codes;      ///< row-major, packed `LowFirst`
  StoredNumbers<float> scales;  ///< row-major over the grid of parameter blocks, in the scale type
  StoredNumbers<std::int32_t> zero_points;  ///< as many, or none where the symmetry has none
  StoredNumbers<float> offsets;             ///< likewise, in the type of the scales
};

/// The form of the parts of an encoded tensor, known without its data.
struct EncodedLayout {
  std::size_t code_bytes = 0;
  Shape scales;         ///< the grid of parameter blocks
  ScaleStorage stored;  ///< how the scales are stored
  ElementKind kind{};   ///< what a code means
  CodeRange codes{};    ///< the codes in use, and the range of zero points
  CodeRange type{};     ///< every code of that many bits
  int bits = 0;         ///< of one code
  bool has_zero_points = false;
  bool has_offsets = false;

  /// Bytes of one code in memory.
  [[nodiscard]] std::size_t code_size() const noexcept { return bits > 8 ? 2 : 1; }
  /// Bytes of one zero point when it is stored as wide as a code in memory; 0 where there is none.
  [[nodiscard]] TQ_API std::size_t zero_point_bytes() const noexcept;
  /// Bytes of codes, scales and offsets as they are stored and such zero points together.
  [[nodiscard]] TQ_API std::size_t bytes() const noexcept;
  /// Whether a scale may have this value: blocks of floats and code books also know 0 and NaN.
  [[nodiscard]] TQ_API bool allows_scale(float s) const noexcept;
};

namespace detail {

TQ_API void require_count(const char* what, std::size_t expected, std::size_t got,
                          const EncodedTensor& t);

// The numbers of a tensor, which its scheme stores as `Stored`.
template <class Stored, class Value>
[[nodiscard]] const Stored& require_stored(const char* what, const StoredNumbers<Value>& numbers,
                                           const EncodedTensor& t) {
  const auto* stored = numbers.template get_if<Stored>();
  if (stored == nullptr)
    raise_expected(errc::bad_argument, "tq::decode",
                   {what, " as ", to_string(t.spec), " stores them"},
                   {numbers.empty() ? "none" : "those of another type"});
  return *stored;
}

// Throws unless `scales` have values that they may have.
void require_values(const char* function, const auto& scales, const EncodedLayout& layout) {
  for (std::size_t i = 0; i < scales.size(); ++i)
    if (!layout.allows_scale(scales[i]))
      raise_expected(errc::bad_scale, function, {"positive finite scales"},
                     {scales[i], " at parameter ", i});
}

// Throws unless `zero_points` are codes.
void require_codes(const char* function, const auto& zero_points, CodeRange codes) {
  for (std::size_t i = 0; i < zero_points.size(); ++i)
    if (zero_points[i] < codes.min || zero_points[i] > codes.max)
      refuse_zero_point(function, codes, zero_points[i], i);
}

// Throws unless scales, offsets and zero points of `t` are what `layout` promises.
template <class Types, class ScaleTypes>
void require_parameters(const EncodedTensor& t, const EncodedLayout& layout) {
  const std::size_t n = layout.scales.size();
  require_count("scales", n, t.scales.size(), t);
  require_count("zero points", layout.has_zero_points ? n : 0, t.zero_points.size(), t);
  require_count("offsets", layout.has_offsets ? n : 0, t.offsets.size(), t);
  visit_scale<ScaleTypes>(t.spec, [&]<class Scale>() {
    const auto& scales = require_stored<Scales<Scale>>("scales", t.scales, t);
    require_values("tq::decode", scales.values(), layout);
    if (layout.has_offsets)
      require_offsets("tq::decode", n,
                      require_stored<Scales<Scale>>("offsets", t.offsets, t).values());
  });
  if (!layout.has_zero_points) return;
  with_name<void>(t.spec.type, Types{}, [&]<class T>(std::type_identity<T>) {
    if constexpr (IntegerElement<T>)
      require_codes("tq::decode",
                    require_stored<ZeroPoints<T>>("zero points", t.zero_points, t).values(),
                    layout.codes);
  });
}

// And the codes as many.
template <class Types, class ScaleTypes>
void require_parts(const EncodedTensor& t, const EncodedLayout& layout) {
  require_count("bytes of codes", layout.code_bytes, t.codes.size(), t);
  require_parameters<Types, ScaleTypes>(t, layout);
}

// Throws unless `encode` has the numerics of `spec` for the type.
TQ_API void require_encodable(const TypeFacts& type, const QuantSpec& spec);

}  // namespace detail

/// Checks that `encode` knows the scheme. Throws: as `visit`; `errc::unsupported` for numerics that
/// are not instantiated for the type: integers have all, code books all but those of torch, floats
/// onnx, ocp and exact.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
void validate_encoding(const QuantSpec& spec) {
  validate<Types, ScaleTypes>(spec);
  detail::require_encodable(detail::find_facts(Types{}, spec.type), spec);
}

/// The parts of a tensor of `shape` encoded as `spec`.
/// Throws: as `validate_encoding`; `errc::bad_axis` when the granularity does not fit the shape.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
[[nodiscard]] EncodedLayout encoded_layout(const QuantSpec& spec, const Shape& shape) {
  validate_encoding<Types, ScaleTypes>(spec);
  const auto [type, symmetry] = detail::scheme_facts<Types>(spec);
  const std::int64_t half = std::int64_t{1} << (type.bits - 1);
  EncodedLayout layout;
  layout.code_bytes = type.packed_bytes(shape.size());
  layout.kind = type.kind;
  layout.codes = symmetry.codes;
  layout.type = {static_cast<std::int32_t>(type.is_signed ? -half : 0),
                 static_cast<std::int32_t>((type.is_signed ? half : 2 * half) - 1)};
  layout.bits = type.bits;
  layout.has_zero_points = symmetry.has_zero_points;
  layout.has_offsets = symmetry.has_offsets;
  const AnyGranularity granularity(spec);
  granularity.require("tq::encoded_layout", shape);
  layout.scales = granularity.grid(shape);
  visit_scale<ScaleTypes>(
      spec, [&]<class Scale>() { layout.stored = scale_storage<Scale>(layout.scales.size()); });
  return layout;
}

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/scheme/encoded_layout.ipp>
#endif
