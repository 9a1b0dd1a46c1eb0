// SPDX-License-Identifier: MIT
#pragma once
// DecodedParams: scales and zero points as kernels read them, arrays of float32 and of int32.

#include <tq/core/buffer.hpp>
#include <tq/core/decoded_view.hpp>
#include <tq/core/quant_params.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tq::detail {

// The numbers of a view side by side: of a span those that are there.
template <class View>
class SideBySide;

template <class T>
class SideBySide<std::span<const T>> {
 public:
  explicit SideBySide(std::span<const T> values) noexcept : data_(values.data()) {}
  [[nodiscard]] const T* data() const noexcept { return data_; }

 private:
  const T* data_;
};

// Those of other views are decoded, many of them into memory of their own.
template <class Decode>
class SideBySide<DecodedView<Decode>> {
 public:
  using value_type = typename DecodedView<Decode>::value_type;
  explicit SideBySide(const DecodedView<Decode>& values)
      : many_(values.size() > few ? Buffer<value_type>(values.size()) : Buffer<value_type>()) {
    value_type* to = values.size() > few ? many_.data() : few_;
    for (std::size_t i = 0; i < values.size(); ++i) to[i] = values[i];
  }
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;
  ~SideBySide() = default;
  [[nodiscard]] const value_type* data() const noexcept { return many_.size() != 0 ? many_.data() : few_; }

 private:
  static constexpr std::size_t few = 512;
  Buffer<value_type> many_;
  value_type few_[few];
};

// Scales and zero points of parameters, which must outlive them; null in place of zero points where the symmetry has none.
// Parameters of float32 without zero points, and inline ones, are read where they are.
template <AnyParams Params>
class DecodedParams {
 public:
  explicit DecodedParams(const Params& params) noexcept(reads_in_place)
      : scales_(params.scales()), zero_points_(zero_points_of(params)) {}
  [[nodiscard]] const float* scales() const noexcept { return scales_.data(); }
  [[nodiscard]] const std::int32_t* zero_points() const noexcept { return zero_points_.data(); }

 private:
  static auto zero_points_of(const Params& params) noexcept {
    if constexpr (Params::has_zero_point) return params.zero_points();
    else return std::span<const std::int32_t>();
  }
  using Scales = SideBySide<decltype(std::declval<const Params&>().scales())>;
  using Zeros = SideBySide<decltype(zero_points_of(std::declval<const Params&>()))>;

 public:
  static constexpr bool reads_in_place = std::is_trivially_copyable_v<Scales> && std::is_trivially_copyable_v<Zeros>;

 private:
  Scales scales_;
  Zeros zero_points_;
};

// Whether operations on an executor throw nothing, nor need memory for parameters.
template <AnyParams Params>
inline constexpr bool reads_in_place = DecodedParams<Params>::reads_in_place;

}  // namespace tq::detail
