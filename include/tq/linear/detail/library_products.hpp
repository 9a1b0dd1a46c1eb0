// SPDX-License-Identifier: MIT
#pragma once
// The products of the kernel library: functions that tq_add_kernels compiled once for several
// instruction sets, of which a program calls those of its processor. They are the parts of a
// product that depend on an instruction set: tiles of sums, and rows of results. Loops over blocks
// and panels are the program's own.

#include <tq/driver/column_cursor.hpp>
#include <tq/kernels/depthwise.hpp>
#include <tq/kernels/gemv.hpp>
#include <tq/kernels/panel_layout.hpp>
#include <tq/kernels/requantize.hpp>
#include <tq/kernels/rescale.hpp>
#include <tq/kernels/row_strip.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/output/detail/rounded_lanes.hpp>
#include <tq/linear/output/requantize.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace tq::kernel_library {

/// As `kernels::gemm_tile`, of any number of rows.
template <class Number>
using TileFunction = void (*)(std::size_t rows, kernels::TileRows<const Number> x,
                              const std::int8_t* panel, std::size_t steps,
                              kernels::TileRows<std::int32_t> sums, kernels::Start start) noexcept;
/// As `tq::detail::take_multiple`.
using TakeFunction = void (*)(std::int32_t* sums, std::int64_t factor,
                              const std::int32_t* of_column) noexcept;
/// As `kernels::depthwise`.
template <class Code>
using DepthwiseFunction = void (*)(const kernels::Taps<Code>& x, const kernels::TapWeights& weights,
                                   std::int32_t* sums) noexcept;
/// As `kernels::sums_row`.
template <class Stage, class Out>
using SumsFunction =
    void (*)(const Stage& stage, const std::int32_t* sums, Out* out, std::size_t n,
             const std::array<driver::ColumnEntries, Stage::columns>& columns) noexcept;
/// As `tq::detail::rounded_lanes`; null where the instruction set has no lanes for the rule.
template <class R, class Code>
using RuleFunction = void (*)(const kernels::CodeLimits& limits,
                              const tq::detail::RuleNumbers<R>& numbers, const std::int32_t* sums,
                              Code* out, std::size_t n) noexcept;

/// The rows of a rounding rule.
template <class R>
struct RuleRows {
  RuleFunction<R, std::int8_t> of_int8;
  RuleFunction<R, std::uint8_t> of_uint8;
};

/// Rules that have lanes.
using AllRuleRows = std::tuple<RuleRows<RequantizeTorch>, RuleRows<RequantizeDouble>,
                               RuleRows<RequantizeSingle>, RuleRows<RequantizeUp>>;

/// The functions of one instruction set, but for products of bytes.
struct Products {
  TileFunction<std::int16_t> pairs;
  TakeFunction take_16, take_64;  ///< of panels of so many columns
  DepthwiseFunction<std::int8_t> depthwise_int8;
  DepthwiseFunction<std::uint8_t> depthwise_uint8;
  SumsFunction<kernels::Rescale, float> rescale;
  SumsFunction<kernels::Requantize<std::int8_t>, std::int8_t> requantize_int8;
  SumsFunction<kernels::Requantize<std::uint8_t>, std::uint8_t> requantize_uint8;
  AllRuleRows rules;
};

/// Products of bytes, by the fastest instructions of an instruction set, and the layout of weights
/// that they read. Null, with the layout of pairs, where there are no such instructions.
struct ByteProducts {
  PanelLayout layout;
  TileFunction<std::uint8_t> tile;
};

/// The functions of the instruction set that runs.
[[nodiscard]] const Products& products() noexcept;
[[nodiscard]] const ByteProducts& byte_products() noexcept;

}  // namespace tq::kernel_library

namespace tq::detail {

// Dots whose tiles the library has (`kernels::gemm_tile` of others): `rows` is the most that a tile
// of any instruction set has.
struct LibraryPairs {
  using number = std::int16_t;
  static constexpr std::size_t depth = 2, columns = 16, rows = 12;
  static auto tile() noexcept { return kernel_library::products().pairs; }
};
template <std::size_t Columns>
struct LibraryBytes {
  using number = std::uint8_t;
  static constexpr std::size_t depth = 4, columns = Columns, rows = 6;
  static auto tile() noexcept { return kernel_library::byte_products().tile; }
};

// The rule of the library that rounds as R does, or void.
template <class R>
using library_rule = std::conditional_t<
    std::derived_from<R, RequantizeTorch>, RequantizeTorch,
    std::conditional_t<std::derived_from<R, RequantizeDouble>, RequantizeDouble,
                       std::conditional_t<std::derived_from<R, RequantizeSingle>, RequantizeSingle,
                                          std::conditional_t<std::derived_from<R, RequantizeUp>,
                                                             RequantizeUp, void>>>>;

template <class Rule, class Code>
[[nodiscard]] kernel_library::RuleFunction<Rule, Code> library_rows() noexcept {
  const auto& rows = std::get<kernel_library::RuleRows<Rule>>(kernel_library::products().rules);
  if constexpr (std::is_signed_v<Code>) return rows.of_int8;
  else return rows.of_uint8;
}

// A row of sums through a stage, by the library.
template <class Stage, class Out>
void library_sums_row(const Stage& stage, const std::int32_t* sums, Out* out, std::size_t n,
                      const std::array<driver::ColumnEntries, Stage::columns>& columns) noexcept {
  const kernel_library::Products& p = kernel_library::products();
  if constexpr (std::same_as<Out, float>) p.rescale(stage, sums, out, n, columns);
  else if constexpr (std::is_signed_v<Out>) p.requantize_int8(stage, sums, out, n, columns);
  else p.requantize_uint8(stage, sums, out, n, columns);
}

}  // namespace tq::detail
