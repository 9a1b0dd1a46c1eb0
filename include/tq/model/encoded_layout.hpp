// SPDX-License-Identifier: MIT
#pragma once
// EncodedTensor: a quantized tensor whose scheme is a value, for files and tools; and
// EncodedLayout, what its parts look like.

#include <tq/core/granularity.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/error.hpp>
#include <tq/model/any_granularity.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/model/stored_scales.hpp>
#include <tq/model/visit.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tq {

/// Codes, scales and zero points of a tensor of `shape`, without a static type.
struct EncodedTensor {
  QuantSpec spec;
  Shape shape;
  std::vector<std::byte> codes;  ///< row-major, packed `LowFirst`
  std::vector<float>
      scales;  ///< row-major over the grid of parameter blocks: what is computed with
  std::vector<std::int32_t>
      zero_points;      ///< as many as scales, or none where the symmetry has none
  StoredScales stored;  ///< what a file keeps of scales that are not float32
};

/// What the parts of an encoded tensor look like, known without its data.
struct EncodedLayout {
  std::size_t code_bytes = 0;
  Shape scales;         ///< the grid of parameter blocks
  ScaleStorage stored;  ///< how the scales are stored
  ElementKind kind{};   ///< what a code means
  CodeRange codes{};    ///< the codes in use, and the range of zero points
  CodeRange type{};     ///< every code of that many bits
  int bits = 0;         ///< of one code
  bool has_zero_points = false;

  /// Bytes of one code in memory.
  [[nodiscard]] std::size_t code_size() const noexcept { return bits > 8 ? 2 : 1; }
  /// Bytes of one zero point when it is stored as wide as a code in memory; 0 where there is none.
  [[nodiscard]] std::size_t zero_point_bytes() const noexcept {
    return has_zero_points ? code_size() : 0;
  }
  /// Bytes of codes, scales as they are stored and zero points together.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return code_bytes + stored.bytes(scales.size()) + scales.size() * zero_point_bytes();
  }
  /// Whether a scale may have this value: blocks of floats and code books also know 0 and NaN.
  [[nodiscard]] bool allows_scale(float s) const noexcept {
    return detail::valid_scale(s) ||
           (kind == ElementKind::coded && (s == 0.0f || (stored.has_nan && s != s)));
  }
};

namespace detail {

inline void require_count(const char* what, std::size_t expected, std::size_t got,
                          const EncodedTensor& t) {
  if (expected != got)
    raise(errc::shape_mismatch, "tq::decode: expected " + std::to_string(expected) + " " + what +
                                    " for shape " + to_string(t.shape) + " as " +
                                    to_string(t.spec) + ", got " + std::to_string(got));
}

inline void require_scales(const char* function, const EncodedTensor& t,
                           const EncodedLayout& layout) {
  for (std::size_t i = 0; i < t.scales.size(); ++i)
    if (!layout.allows_scale(t.scales[i]))
      raise(errc::bad_scale, std::string(function) + ": expected positive finite scales, got " +
                                 number_text(t.scales[i]) + " at parameter " + std::to_string(i));
}

// Throws unless scales and zero points of `t` are what `layout` promises.
inline void require_parameters(const EncodedTensor& t, const EncodedLayout& layout) {
  const std::size_t n = layout.scales.size();
  require_count("scales", n, t.scales.size(), t);
  require_count("zero points", layout.has_zero_points ? n : 0, t.zero_points.size(), t);
  require_count("codes of scales", layout.stored.is_coded() ? n : 0, t.stored.codes.size(), t);
  require_count("factors of scales", layout.stored.factors, t.stored.factors.size(), t);
  require_scales("tq::decode", t, layout);
  const auto [low, high] = layout.codes;
  for (std::size_t i = 0; i < t.zero_points.size(); ++i)
    if (t.zero_points[i] < low || t.zero_points[i] > high)
      raise(errc::bad_zero_point, "tq::decode: expected zero points in [" + std::to_string(low) +
                                      ", " + std::to_string(high) + "], got " +
                                      std::to_string(t.zero_points[i]) + " at parameter " +
                                      std::to_string(i));
}

// And the codes as many.
inline void require_parts(const EncodedTensor& t, const EncodedLayout& layout) {
  require_count("bytes of codes", layout.code_bytes, t.codes.size(), t);
  require_parameters(t, layout);
}

}  // namespace detail

/// Checks that `encode` knows the scheme. Throws: as `visit`; `errc::unsupported` for numerics that
/// are not instantiated for the type: integers have all, code books all but those of torch, floats
/// onnx, ocp and exact.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
void validate_encoding(const QuantSpec& spec) {
  validate<Types, ScaleTypes>(spec);
  const char* const expected = detail::with_name<const char*>(
      spec.type, Types{}, [&]<class T>(std::type_identity<T>) -> const char* {
        const bool by_torch = spec.numerics == detail::torch_preset::name ||
                              spec.numerics == detail::torch_2_11_preset::name;
        if (detail::is_grid<T> && detail::multiplies(spec)) return "exact, onnx or ocp";
        return CodedElement<T> && by_torch ? "exact, onnx, ocp or bitsandbytes" : nullptr;
      });
  if (expected != nullptr)
    raise(errc::unsupported, std::string("tq::encode: expected numerics ") + expected + " for " +
                                 spec.type + ", got \"" + spec.numerics +
                                 "\" (tq::quantize with static types has it)");
}

/// The parts of a tensor of `shape` encoded as `spec`.
/// Throws: as `validate_encoding`; `errc::bad_axis` when the granularity does not fit the shape.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
[[nodiscard]] EncodedLayout encoded_layout(const QuantSpec& spec, const Shape& shape) {
  validate_encoding<Types, ScaleTypes>(spec);
  EncodedLayout layout;
  visit_type<Types>(spec, [&]<class T, class S>() {
    constexpr bool is_signed = std::is_signed_v<typename T::code_type>;
    layout.code_bytes = LowFirst::bytes_for<T>(shape.size());
    layout.kind = T::kind;
    layout.codes = S::template codes<T>();
    constexpr std::int64_t half = std::int64_t{1} << (T::bits - 1);
    layout.type = {static_cast<std::int32_t>(is_signed ? -half : 0),
                   static_cast<std::int32_t>((is_signed ? half : 2 * half) - 1)};
    layout.bits = T::bits;
    layout.has_zero_points = S::has_zero_point;
  });
  const AnyGranularity granularity(spec);
  granularity.require("tq::encoded_layout", shape);
  layout.scales = granularity.grid(shape);
  visit_scale<ScaleTypes>(
      spec, [&]<class Scale>() { layout.stored = scale_storage<Scale>(layout.scales.size()); });
  return layout;
}

/// Sets `scales` to what `stored` stands for, where the scheme does not store them as float32.
/// Throws: `errc::unknown_name`; as `restore_scales`.
template <class ScaleTypes = TypeList<float>>
void restore_scales(EncodedTensor& tensor) {
  visit_scale<ScaleTypes>(tensor.spec, [&]<class Scale>() {
    if constexpr (std::same_as<Scale, Unscaled>) {
      tensor.scales = {1.0f};
    } else if constexpr (!std::same_as<Scale, float>) {
      const auto values = restore_scales<Scale>(tensor.stored);
      tensor.scales.assign(values.values().begin(), values.values().end());
    }
  });
}

}  // namespace tq
