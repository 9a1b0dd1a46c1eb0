// SPDX-License-Identifier: MIT
#pragma once
// Scales, zero points and offsets of parameters as the driver reads them: from where they are
// stored, a table at a time.

#include <tq/core/packing.hpp>
#include <tq/core/params_view.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/zero_points.hpp>
#include <tq/driver/known_parameters.hpp>
#include <tq/driver/planes.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/sweep.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace tq::detail {

// The element that stored scales are codes of, and the factor of their values.
template <CodedElement E>
std::type_identity<E> stored_element(const Scales<E>&);
template <CodedElement E, BlockScales Least>
std::type_identity<E> stored_element(const Scales<TwoLevel<E, Least>>&);
template <CodedElement E>
std::type_identity<E> stored_element(const ScaleCodes<E>&);
[[nodiscard]] inline float factor_of(const auto&) noexcept { return 1.0f; }
template <CodedElement E, BlockScales Least>
[[nodiscard]] float factor_of(const Scales<TwoLevel<E, Least>>& s) noexcept {
  return s.tensor_scale();
}

// How the driver reads `Stored`.
template <Backend B, class Stored>
struct reads {
  static constexpr std::size_t worth_a_sweep = 16;

  static void scales(const void* data, std::size_t first, std::size_t n, std::size_t stride,
                     void* out) noexcept {
    const auto& stored = *static_cast<const Stored*>(data);
    auto* to = static_cast<float*>(out);
    if constexpr (requires { stored_element(stored); }) {
      if (stride == 1 && n >= worth_a_sweep) {
        using E = typename decltype(stored_element(stored))::type;
        const float factor = factor_of(stored);
        return driver::sweep(
            kernel_for<B, driver::one_scale>(operation::Dequantize<E, Unpacked, float>{}),
            {.source = stored.stored().data() + first, .target = to}, {.length = n},
            {.scales = driver::plain<B>(&factor)});
      }
    }
    if constexpr (std::same_as<Stored, Scales<DoubleQuantized>>)
      if (stride == 1 && first % DoubleQuantized::block == 0)
        return double_quantized(stored, first, n, to);
    if constexpr (requires { stored.super_values(); })
      if (stride == 1) return by_super_blocks(stored, first, n, to);
    one_by_one(stored.values(), first, n, stride, to);
  }

  static void zero_points(const void* data, std::size_t first, std::size_t n, std::size_t stride,
                          void* out) noexcept {
    const auto& stored = *static_cast<const Stored*>(data);
    auto* to = static_cast<std::int32_t*>(out);
    if (stride == 1 && n >= worth_a_sweep) return side_by_side(stored, first, n, to);
    one_by_one(stored.values(), first, n, stride, to);
  }

 private:
  template <class View, class T>
  static void one_by_one(const View& values, std::size_t first, std::size_t n, std::size_t stride,
                         T* to) noexcept {
    for (std::size_t i = 0; i < n; ++i) to[i] = values[first + i * stride];
  }
  // Whole numbers by their float, a super-block at a time.
  static void by_super_blocks(const Stored& stored, std::size_t first, std::size_t n,
                              float* to) noexcept {
    constexpr std::size_t block = Stored::block;
    const auto* const codes = stored.stored().data();
    const std::size_t end = first + n;
    for (std::size_t i = first; i < end;) {
      const std::size_t next = std::min(end, (i / block + 1) * block);
      const float d = stored.super_values()[i / block];
      if (next - i == block) {  // a loop for vectors
        typename Stored::stored_type some[block];
        std::copy_n(codes + i, block, some);
        for (std::size_t k = 0; k < block; ++k) to[k] = d * static_cast<float>(some[k]);
      } else {
        for (std::size_t k = i; k < next; ++k) to[k - i] = d * static_cast<float>(codes[k]);
      }
      to += next - i;
      i = next;
    }
  }
  static void double_quantized(const Stored& stored, std::size_t first, std::size_t n,
                               float* to) noexcept {
    constexpr driver::KnownParameters groups{.group = DoubleQuantized::block,
                                             .lacks_origins = true};
    driver::sweep(kernel_for<B, groups>(operation::Decode<typename Stored::map>{}),
                  {.source = stored.stored().data() + first, .target = to}, {.length = n},
                  {.scales = driver::plain<B>(stored.block_scales().data()),
                   .first = first / DoubleQuantized::block,
                   .group = DoubleQuantized::block});
    const float offset = stored.offset();
    for (std::size_t i = 0; i < n; ++i) to[i] = std::max(to[i] + offset, 0.0f);
  }

  // By pieces of codes in memory of their own, so that what is written may not be what is read
  // next.
  static void side_by_side(const Stored& stored, std::size_t first, std::size_t n,
                           std::int32_t* to) noexcept {
    using T = typename Stored::type;
    typename T::code_type some[256];
    for (std::size_t i = 0; i < n; i += std::size(some)) {
      const std::size_t m = std::min(n - i, std::size(some));
      if constexpr (Stored::is_packed)
        unpack_from<B, T>(stored.stored(), first + i, std::span(some, m));
      else std::copy_n(stored.stored().data() + first + i, m, some);
      std::copy_n(some, m, to + i);
    }
  }
};

// The bits of float offsets, by pieces of numbers in memory of their own.
template <Backend B, class Stored>
void offset_bits(const void* data, std::size_t first, std::size_t n, std::size_t stride,
                 void* out) noexcept {
  float some[256];
  for (std::size_t i = 0; i < n; i += std::size(some)) {
    const std::size_t m = std::min(n - i, std::size(some)), at = first + i * stride;
    if constexpr (std::same_as<Stored, float>)
      for (std::size_t k = 0; k < m; ++k)
        some[k] = static_cast<const float*>(data)[at + k * stride];
    else reads<B, Stored>::scales(data, at, m, stride, some);
    std::memcpy(static_cast<unsigned char*>(out) + i * sizeof(float), some, m * sizeof(float));
  }
}

// Without a copy: what is stored must outlive the sweep.
template <Backend B>
[[nodiscard]] driver::Plane scale_plane(const auto& stored) noexcept {
  if constexpr (requires { stored.values().data(); })
    return driver::plain<B>(stored.values().data());
  else return {&stored, &reads<B, std::remove_cvref_t<decltype(stored)>>::scales};
}
template <Backend B>
[[nodiscard]] driver::Plane zero_point_plane(const auto& stored) noexcept {
  return {&stored, &reads<B, std::remove_cvref_t<decltype(stored)>>::zero_points};
}
template <Backend B>
[[nodiscard]] driver::Plane offset_plane(const auto& stored) noexcept {
  if constexpr (requires { stored.values().data(); })
    return {stored.values().data(), &offset_bits<B, float>};
  else return {&stored, &offset_bits<B, std::remove_cvref_t<decltype(stored)>>};
}

// Planes of any parameters, for operations with a stage for float offsets too: it takes their bits
// where others take zero points.
template <Backend B, AnyParams Params>
[[nodiscard]] driver::Parameters all_parameters(const Params& p) noexcept {
  driver::Parameters out;
  if constexpr (requires { p.scales().data(); }) out.scales = driver::plain<B>(p.scales().data());
  else out.scales = scale_plane<B>(p.stored_scales());
  if constexpr (requires { p.offsets().data(); })
    out.origins = {p.offsets().data(), &offset_bits<B, float>};
  else if constexpr (OffsetParams<Params>) out.origins = offset_plane<B>(p.stored_offsets());
  else if constexpr (requires { p.zero_points().data(); })
    out.origins = driver::plain<B>(p.zero_points().data());
  else if constexpr (Params::has_zero_point)
    out.origins = zero_point_plane<B>(p.stored_zero_points());
  return out;
}
template <Backend B, AnyParams Params>
[[nodiscard]] driver::Parameters driver_parameters(const Params& p) noexcept {
  static_assert(!OffsetParams<Params>, "tq: this operation knows zero points and no float offsets");
  return all_parameters<B>(p);
}

}  // namespace tq::detail
