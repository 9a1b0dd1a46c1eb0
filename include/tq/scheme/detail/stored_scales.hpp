// SPDX-License-Identifier: MIT
#pragma once
// StoredScales: what a file keeps of scales, whatever their type; to and from the static types.

#include <tq/core/float_elements.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/super_block_scales.hpp>
#include <tq/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

/// Scales, or offsets, as a file keeps them.
struct StoredScales {
  std::vector<std::uint16_t> codes;  ///< one per scale, but of those that are float32
  std::vector<float> factors;  ///< those of float32, the tensor scale (`TwoLevel`), block scales,
                               ///< or the float16 of super-blocks
  float offset = 0.0f;         ///< of `DoubleQuantized`
  friend bool operator==(const StoredScales&, const StoredScales&) = default;
};

/// How much of what a scale type stores for `count` scales.
struct ScaleStorage {
  int bits = 32;               ///< of one scale; 0 where none is stored
  std::string_view element{};  ///< what the codes of the scales are, if they are codes
  std::size_t factors = 0;     ///< float32 values beside the scales
  bool has_offset = false;     ///< and one more
  bool has_nan = false;        ///< is there a code of NaN among the scales

  [[nodiscard]] bool is_coded() const noexcept { return bits == 8 || bits == 16; }
  /// Bytes of `count` scales and what is beside them.
  [[nodiscard]] std::size_t bytes(std::size_t count) const noexcept {
    return count * static_cast<std::size_t>(bits / 8) +
           (factors + (has_offset ? 1 : 0)) * sizeof(float);
  }
};

namespace detail {

template <class S>
struct first_level;
template <CodedElement E, BlockScales Least>
struct first_level<TwoLevel<E, Least>> : E {};

}  // namespace detail

/// The layout of `count` scales of type S.
template <ScaleType S>
[[nodiscard]] constexpr ScaleStorage scale_storage(std::size_t count) noexcept {
  ScaleStorage layout;
  if constexpr (std::same_as<S, Unscaled>) layout.bits = 0;
  else if constexpr (!std::same_as<S, float>)
    layout.bits = 8 * static_cast<int>(sizeof(typename Scales<S>::stored_type));
  if constexpr (CodedElement<S>) layout.element = S::name;
  if constexpr (detail::is_two_level<S>) {
    layout.element = detail::first_level<S>::name;
    layout.factors = 1;
  }
  if constexpr (std::same_as<S, DoubleQuantized>) {
    layout.factors = (count + S::block - 1) / S::block;
    layout.has_offset = true;
    layout.element = dynamic8::name;
  }
  if constexpr (SuperBlockScale<S>) {
    layout.factors = Scales<S>::blocks_of(count);
    layout.element = S::element::name;
  }
  if constexpr (CodedElement<S>) layout.has_nan = S::format::has_nan;
  return layout;
}

/// The stored parts of `scales`.
template <ScaleType S>
[[nodiscard]] StoredScales store_scales(const Scales<S>& scales) {
  StoredScales out;
  if constexpr (std::same_as<S, float>)
    out.factors.assign(scales.stored().begin(), scales.stored().end());
  else if constexpr (!std::same_as<S, Unscaled>)
    out.codes.assign(scales.stored().begin(), scales.stored().end());
  if constexpr (detail::is_two_level<S>) out.factors = {scales.tensor_scale()};
  if constexpr (std::same_as<S, DoubleQuantized>) {
    out.factors.assign(scales.block_scales().begin(), scales.block_scales().end());
    out.offset = scales.offset();
  }
  if constexpr (SuperBlockScale<S>)
    out.factors.assign(scales.super_values().begin(), scales.super_values().end());
  return out;
}

namespace detail {
// Throws: `errc::bad_argument` for a code wider than that.
template <class Code>
[[nodiscard]] std::vector<Code> narrowed_codes(const std::vector<std::uint16_t>& wide) {
  std::vector<Code> codes;
  codes.reserve(wide.size());
  for (const std::uint16_t code : wide) {
    codes.push_back(static_cast<Code>(code));
    if (codes.back() != code)
      raise_expected(errc::bad_argument, "tq::restore_scales",
                     {"codes of ", 8 * sizeof(Code), " bits"}, {code});
  }
  return codes;
}
// The codes of values of float16. Throws: `errc::bad_scale` for other numbers.
[[nodiscard]] inline std::vector<std::uint16_t> half_codes(const std::vector<float>& values) {
  std::vector<std::uint16_t> codes;
  codes.reserve(values.size());
  for (const float value : values) {
    codes.push_back(float16(value).code);
    if (float16::format::decode(codes.back()) != value)
      raise_expected(errc::bad_scale, "tq::restore_scales", {"super scales of float16"}, {value});
  }
  return codes;
}
}  // namespace detail

/// The scales that were stored.
/// Throws: `errc::bad_argument` for a code wider than the type's, or not one tensor scale;
/// `errc::bad_scale` for super scales that are no float16; what `Scales` throws.
template <ScaleType S>
[[nodiscard]] Scales<S> restore_scales(StoredScales stored) {
  if constexpr (std::same_as<S, float>) {
    return Scales<S>(std::move(stored.factors));
  } else if constexpr (std::same_as<S, Unscaled>) {
    return Scales<S>(1);
  } else {
    auto codes = detail::narrowed_codes<typename Scales<S>::stored_type>(stored.codes);
    if constexpr (detail::is_two_level<S>) {
      if (stored.factors.size() != 1)
        detail::raise_expected(errc::bad_argument, "tq::restore_scales", {"one tensor scale"},
                               {stored.factors.size()});
      return Scales<S>(std::move(codes), stored.factors[0]);
    } else if constexpr (std::same_as<S, DoubleQuantized>) {
      return Scales<S>(std::move(codes), std::move(stored.factors), stored.offset);
    } else if constexpr (SuperBlockScale<S>) {
      return Scales<S>(std::move(codes), detail::half_codes(stored.factors));
    } else {
      return Scales<S>(std::move(codes));
    }
  }
}

}  // namespace tq
