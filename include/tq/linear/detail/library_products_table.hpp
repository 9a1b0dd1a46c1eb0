// SPDX-License-Identifier: MIT
#pragma once
// The library's products for the instruction set that this file is compiled for. Only the files
// that tq_add_kernels makes include it. Every function has the instruction set, or a dot of it, in
// its name, as no other file of a program may run them.

#include <tq/arch/byte_dot.hpp>
#include <tq/arch/isa.hpp>
#include <tq/arch/tap_dot.hpp>
#include <tq/kernels/gemm.hpp>
#include <tq/kernels/sums_row.hpp>
#include <tq/linear/detail/library_products.hpp>
#include <tq/linear/detail/take_multiple.hpp>
#include <tq/linear/output/detail/rule_lanes.hpp>
#include <tq/linear/output/requantizer.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernel_library {

template <class Dot>
void tile_of(std::size_t rows, kernels::TileRows<const typename Dot::number> x,
             const std::int8_t* panel, std::size_t steps, kernels::TileRows<std::int32_t> sums,
             kernels::Start start) noexcept {
  for (std::size_t r = 0; r < rows; r += Dot::rows)
    kernels::gemm_tile<Dot>(
        rows - r < Dot::rows ? rows - r : Dot::rows,
        {x.first + static_cast<std::ptrdiff_t>(r) * x.stride, x.stride}, panel, steps,
        {sums.first + static_cast<std::ptrdiff_t>(r) * sums.stride, sums.stride}, start);
}

template <class Arch, std::size_t Columns>
void take_of(std::int32_t* sums, std::int64_t factor, const std::int32_t* of_column) noexcept {
  tq::detail::take_multiple<Columns>(sums, factor, of_column);
}

template <class Arch>
void sums_row_of(
    const kernels::Rescale& stage, const std::int32_t* sums, float* out, std::size_t n,
    const std::array<driver::ColumnEntries, kernels::Rescale::columns>& columns) noexcept {
  kernels::sums_row<Arch>(stage, sums, out, n, columns);
}

template <class Arch, class R>
constexpr RuleRows<R> rule_rows() noexcept {
#if TQ_HAS_SIMD
  if constexpr (LaneRequantizer<R, Arch>)
    return {&tq::detail::rule_lanes<Arch, R, std::int8_t>,
            &tq::detail::rule_lanes<Arch, R, std::uint8_t>};
#endif
  return {nullptr, nullptr};
}
template <class Arch, class... R>
constexpr RuleTable<R...> all_rule_rows(const RuleTable<R...>&) noexcept {
  return {{rule_rows<Arch, R>()...}};
}

template <class Arch>
constexpr Products products_of() noexcept {
  return {.pairs = &tile_of<arch::pair_dot<Arch>>,
          .take_16 = &take_of<Arch, 16>,
          .take_64 = &take_of<Arch, 64>,
          .depthwise_int8 = &kernels::depthwise<arch::tap_dot<Arch>, std::int8_t>,
          .depthwise_uint8 = &kernels::depthwise<arch::tap_dot<Arch>, std::uint8_t>,
          .rescale = &sums_row_of<Arch>,
          .rules = all_rule_rows<Arch>(AllRules{})};
}

template <class Dot>
constexpr ByteProducts byte_products_of() noexcept {
  if constexpr (std::is_same_v<typename Dot::number, std::uint8_t>)
    return {kernels::layout_of<Dot>, &tile_of<Dot>};
  else return {PanelLayout::pairs_of_16, nullptr};
}

}  // namespace tq::kernel_library
