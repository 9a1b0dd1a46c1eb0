// SPDX-License-Identifier: MIT
#pragma once
// The values of a stored tensor: as float32, which is what tq quantizes, or as they are.

#include <tq/io/tensor.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace tool {

// As tq::io::to_float32. Throws: errc::unsupported where a finite value becomes infinite, unless
// infinities are allowed, and where all values that are not 0 become 0.
[[nodiscard]] std::vector<float> float_values(const tq::io::Tensor& tensor,
                                              bool allow_infinite = false);

// What decoded values are once they are stored as `dtype`, which they come back in. Throws: as
// tq::io::round_to.
[[nodiscard]] inline std::vector<float> as_stored(std::vector<float> decoded, tq::io::DType dtype) {
  tq::io::round_to(decoded, dtype);
  return decoded;
}

// True for types that real numbers are stored in.
[[nodiscard]] constexpr bool is_real(tq::io::DType dtype) noexcept {
  return dtype != tq::io::DType::c64 && dtype != tq::io::DType::c128;
}

// Calls f(values) with a vector of the smallest of float, double, std::int64_t and std::uint64_t
// that has all values of the type. Precondition: is_real.
template <class F>
decltype(auto) with_exact_values(const tq::io::Tensor& tensor, F&& f) {
  using enum tq::io::DType;
  const auto doubles = [](const auto& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  switch (tensor.dtype) {
    case f64: return f(tq::io::values<double>(tensor));
    case i32: return f(doubles(tq::io::values<std::int32_t>(tensor)));
    case u32: return f(doubles(tq::io::values<std::uint32_t>(tensor)));
    case i64: return f(tq::io::values<std::int64_t>(tensor));
    case u64: return f(tq::io::values<std::uint64_t>(tensor));
    default: return f(tq::io::to_float32(tensor));
  }
}

}  // namespace tool
