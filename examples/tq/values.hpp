// SPDX-License-Identifier: MIT
#pragma once
// The values of a stored tensor as they are.

#include "stored_model.hpp"

#include <tq/containers/tensor.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/store/float_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tool {

using FloatReader = tq::store::FloatReader<>;

// True for types that real numbers are stored in.
[[nodiscard]] constexpr bool is_real(tq::io::DType dtype) noexcept {
  return dtype != tq::io::DType::c64 && dtype != tq::io::DType::c128;
}

// Stored elements in the smallest of float, double, std::int64_t and std::uint64_t that has all
// values of their type.
class ExactValues {
 public:
  // Calls f(std::span<const T>). Precondition: is_real.
  template <class F>
  decltype(auto) with(tq::io::DType dtype, std::span<const std::byte> bytes, F&& f) {
    using enum tq::io::DType;
    switch (dtype) {
      case f64: return f(loaded<double>(doubles_, bytes));
      case i32: return f(loaded<std::int32_t>(doubles_, bytes));
      case u32: return f(loaded<std::uint32_t>(doubles_, bytes));
      case i64: return f(loaded<std::int64_t>(integers_, bytes));
      case u64: return f(loaded<std::uint64_t>(naturals_, bytes));
      default: break;
    }
    floats_.resize(bytes.size() * 8 / bits(dtype));
    tq::io::to_float32(dtype, bytes, floats_);
    return f(std::span<const float>(floats_));
  }

 private:
  template <class Stored, class T>
  static std::span<const T> loaded(std::vector<T>& to, std::span<const std::byte> bytes) {
    to.resize(bytes.size() / sizeof(Stored));
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<T>(tq::io::load_le<Stored>(bytes.data() + i * sizeof(Stored)));
    return to;
  }
  std::vector<float> floats_;
  std::vector<double> doubles_;
  std::vector<std::int64_t> integers_;
  std::vector<std::uint64_t> naturals_;
};

}  // namespace tool
