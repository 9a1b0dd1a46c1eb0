// SPDX-License-Identifier: MIT
#pragma once
// Element types: tags that say what a code is. They are spelled as ONNX and PyTorch spell their
// dtypes.

#include <tq/numeric/value_format.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tq {

/// The meaning of a code: the quantized integer itself, or the name of a real value.
enum class ElementKind : std::uint8_t { integer, coded };

namespace detail {
template <int Bits, bool Signed>
using code_for = std::conditional_t<
    (Bits > 16), std::int32_t,
    std::conditional_t<Signed, std::conditional_t<(Bits <= 8), std::int8_t, std::int16_t>,
                       std::conditional_t<(Bits <= 8), std::uint8_t, std::uint16_t>>>;

template <int Bits, bool Signed>
struct integer_name {
  static constexpr std::size_t size = (Signed ? 3 : 4) + (Bits >= 10 ? 2 : 1);
  char text[size]{};
  constexpr integer_name() {
    std::size_t i = 0;
    if (!Signed) text[i++] = 'u';
    for (const char c : {'i', 'n', 't'}) text[i++] = c;
    if (Bits >= 10) text[i++] = static_cast<char>('0' + Bits / 10);
    text[i] = static_cast<char>('0' + Bits % 10);
  }
};
template <int Bits, bool Signed>
inline constexpr integer_name<Bits, Signed> integer_name_v{};
}  // namespace detail

/// Integers of 2 to 8 or 16 bits, and signed ones of 32; the code is the number, in two's
/// complement where signed.
template <int Bits, bool Signed>
  requires((Bits >= 2 && Bits <= 8) || Bits == 16 || (Bits == 32 && Signed))
struct basic_int {
  static constexpr ElementKind kind = ElementKind::integer;
  static constexpr int bits = Bits;
  using code_type = detail::code_for<Bits, Signed>;
  static constexpr std::int32_t qmin =
      Signed ? static_cast<std::int32_t>(-(std::int64_t{1} << (Bits - 1))) : 0;
  static constexpr std::int32_t qmax =
      static_cast<std::int32_t>((std::int64_t{1} << (Signed ? Bits - 1 : Bits)) - 1);
  static constexpr std::string_view name{detail::integer_name_v<Bits, Signed>.text,
                                         detail::integer_name<Bits, Signed>::size};
};

using int2 = basic_int<2, true>;
using int3 = basic_int<3, true>;
using int4 = basic_int<4, true>;
using int5 = basic_int<5, true>;
using int6 = basic_int<6, true>;
using int7 = basic_int<7, true>;
using int8 = basic_int<8, true>;
using int16 = basic_int<16, true>;
/// The element of biases and sums of products: scale = scale of x * scale of w, zero point 0.
using int32 = basic_int<32, true>;
using uint2 = basic_int<2, false>;
using uint3 = basic_int<3, false>;
using uint4 = basic_int<4, false>;
using uint5 = basic_int<5, false>;
using uint6 = basic_int<6, false>;
using uint7 = basic_int<7, false>;
using uint8 = basic_int<8, false>;
using uint16 = basic_int<16, false>;

/// {-1, 0, +1}: as `int2` without its lowest code. Packs to 2 bits, or by `FiveInByte` to 1.6.
struct ternary {
  static constexpr ElementKind kind = ElementKind::integer;
  static constexpr int bits = 2;
  using code_type = std::int8_t;
  static constexpr std::int32_t qmin = -1, qmax = 1;
  static constexpr std::string_view name = "ternary";
};

namespace detail {
// An element whose codes are those of a number format.
template <ValueFormat Format>
struct coded_element {
  static constexpr ElementKind kind = ElementKind::coded;
  using format = Format;
  static constexpr int bits = Format::bits;
  using code_type = std::conditional_t<(bits <= 8), std::uint8_t, std::uint16_t>;
  static constexpr float max_finite = Format::max_finite;
};
}  // namespace detail

/// An element type. Smallest integer model:
///
///     struct int4 {
///       static constexpr tq::ElementKind kind = tq::ElementKind::integer;
///       static constexpr int bits = 4;
///       using code_type = std::int8_t;
///       static constexpr std::int32_t qmin = -8, qmax = 7;
///       static constexpr std::string_view name = "int4";
///     };
template <class T>
concept Element = requires {
  typename T::code_type;
  requires std::same_as<std::remove_cvref_t<decltype(T::kind)>, ElementKind>;
  { T::bits } -> std::convertible_to<int>;
  { T::name } -> std::convertible_to<std::string_view>;
};

/// An element whose code is the quantized integer, so that zero points make sense.
template <class T>
concept IntegerElement = Element<T> && T::kind == ElementKind::integer && requires {
  { T::qmin } -> std::convertible_to<std::int32_t>;
  { T::qmax } -> std::convertible_to<std::int32_t>;
};

/// An integer element whose codes have at most 16 bits in memory, so that float32 holds the
/// difference of any two of them: all but `int32`.
template <class T>
concept SmallInteger = IntegerElement<T> && sizeof(typename T::code_type) <= 2;

/// An element whose code names a real value of a number format: small floats, code books. Smallest
/// model:
///
///     struct sign {
///       static constexpr tq::ElementKind kind = tq::ElementKind::coded;
///       using format = sign_bit;  // see tq::ValueFormat
///       static constexpr int bits = format::bits;
///       using code_type = std::uint8_t;  // std::uint16_t beyond 8 bits
///       static constexpr std::string_view name = "sign";
///     };
template <class T>
concept CodedElement =
    Element<T> && T::kind == ElementKind::coded && ValueFormat<typename T::format>;

/// An element whose codes stand for numbers that float32 holds, as searches for a range and
/// gradients need: all but `int32`.
template <class T>
concept ExactInFloat32 = SmallInteger<T> || CodedElement<T>;

}  // namespace tq
