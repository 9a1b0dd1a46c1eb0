// SPDX-License-Identifier: MIT
#pragma once
// Real: the types of real numbers that tensors are made of in memory.

#include <tq/core/float_elements.hpp>

#include <concepts>

namespace tq {

namespace detail {
/// The number format of a type of 16 bits, as a specialization has it; float and double need none.
template <class T>
struct real_format {};
template <>
struct real_format<float16> {
  using type = float16::format;
};
template <>
struct real_format<bfloat16> {
  using type = bfloat16::format;
};
// g++ has _Float16 from version 13 on, on x86 from version 12 on.
#if defined(__STDCPP_FLOAT16_T__) || \
    (defined(__FLT16_MANT_DIG__) &&  \
     (defined(__clang__) || __GNUC__ >= 13 || (__GNUC__ == 12 && defined(__SSE2__))))
template <>
struct real_format<_Float16> {
  using type = float16::format;
};
#endif
#if defined(__STDCPP_BFLOAT16_T__) || \
    (defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 13 && defined(__SSE2__))
template <>
struct real_format<__bf16> {
  using type = bfloat16::format;
};
#endif
}  // namespace detail

/// float, double, `float16`, `bfloat16`, what the compiler has of 16 bits, and Eigen's of 16 bits
/// where interop/eigen.hpp is included. What is narrowed to one of them is rounded to nearest even,
/// and saturates.
template <class T>
concept Real = std::same_as<T, float> || std::same_as<T, double> ||
               requires { typename detail::real_format<T>::type; };

}  // namespace tq
