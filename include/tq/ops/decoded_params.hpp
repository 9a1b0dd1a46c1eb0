// SPDX-License-Identifier: MIT
#pragma once
// DecodedParams: scales and zero points as kernels read them, arrays of float32 and of int32.

#include <tq/core/buffer.hpp>
#include <tq/core/params_view.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/run.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/backend.hpp>
#include <tq/ops/parts.hpp>
#include <tq/ops/stored_planes.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace tq::detail {

template <class T>
[[nodiscard]] std::span<const T> numbers_of(std::span<const T> numbers) noexcept {
  return numbers;
}
template <class Stored>
[[nodiscard]] auto numbers_of(const Stored& stored) noexcept {
  return stored.values();
}

// The numbers of what is stored, side by side: decoded, many of them into memory of their own.
template <Backend B, class Stored>
class SideBySide {
 public:
  using value_type = typename decltype(numbers_of(std::declval<const Stored&>()))::value_type;
  explicit SideBySide(const Stored& stored) {
    const std::size_t size = numbers_of(stored).size();
    if (size > few) many_ = Buffer<value_type>(size);
    value_type* const to = size > few ? many_.data() : few_;
    using read = reads<typename B::arch, Stored>;
    if constexpr (std::same_as<value_type, float>) read::scales(&stored, 0, size, 1, to);
    else read::zero_points(&stored, 0, size, 1, to);
  }
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;
  ~SideBySide() = default;
  [[nodiscard]] const value_type* data() const noexcept { return many_.size() != 0 ? many_.data() : few_; }

 private:
  static constexpr std::size_t few = 1024;
  Buffer<value_type> many_;
  alignas(64) value_type few_[few];
};

// Where they are, if they are stored so.
template <Backend B, class Stored>
  requires requires(const Stored& stored) { numbers_of(stored).data(); }
class SideBySide<B, Stored> {
 public:
  using value_type = typename decltype(numbers_of(std::declval<const Stored&>()))::value_type;
  explicit SideBySide(const Stored& stored) noexcept : data_(numbers_of(stored).data()) {}
  [[nodiscard]] const value_type* data() const noexcept { return data_; }

 private:
  const value_type* data_;
};

// Whether the parameters are stored as kernels read them, so that operations on them ask for no memory.
template <AnyParams Params>
inline constexpr bool reads_in_place = requires(const Params& p) { p.scales().data(); } &&
                                       (!Params::has_zero_point || requires(const Params& p) { p.zero_points().data(); });

// Scales and zero points of parameters, which must outlive them; null in place of zero points where the symmetry has none.
template <Backend B, AnyParams Params>
class DecodedParams {
  static_assert(!OffsetParams<Params>, "tq: this operation knows zero points and no float offsets");

 public:
  explicit DecodedParams(const Params& params) noexcept(reads_in_place<Params>)
      : scales_(scales_of(params)), zero_points_(zero_points_of(params)) {}
  [[nodiscard]] const float* scales() const noexcept { return scales_.data(); }
  [[nodiscard]] const std::int32_t* zero_points() const noexcept { return zero_points_.data(); }

 private:
  static decltype(auto) scales_of(const Params& params) noexcept {
    if constexpr (Params::is_inline) return params.scales();
    else return params.stored_scales();
  }
  static decltype(auto) zero_points_of(const Params& params) noexcept {
    if constexpr (!Params::has_zero_point) return std::span<const std::int32_t>();
    else if constexpr (Params::is_inline) return params.zero_points();
    else return params.stored_zero_points();
  }

  SideBySide<B, std::remove_cvref_t<decltype(scales_of(std::declval<const Params&>()))>> scales_;
  SideBySide<B, std::remove_cvref_t<decltype(zero_points_of(std::declval<const Params&>()))>> zero_points_;
};

template <Backend B, AnyParams Params>
[[nodiscard]] kernels::Span kernel_span(const Run& r, const DecodedParams<B, Params>& p) noexcept {
  return kernel_span(r, p.scales(), p.zero_points());
}

}  // namespace tq::detail
