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
#include <tq/kernels/rescale.hpp>
#include <tq/kernels/row_strip.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/output/detail/code_limits.hpp>
#include <tq/linear/output/detail/rule_lanes.hpp>
#include <tq/linear/output/requantize_double.hpp>
#include <tq/linear/output/requantize_float.hpp>
#include <tq/linear/output/requantize_single.hpp>
#include <tq/linear/output/requantize_torch.hpp>
#include <tq/linear/output/requantize_up.hpp>

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
using SumsFunction =
    void (*)(const kernels::Rescale& stage, const std::int32_t* sums, float* out, std::size_t n,
             const std::array<driver::ColumnEntries, kernels::Rescale::columns>& columns) noexcept;
/// As `tq::detail::rule_lanes`; null where the instruction set has no lanes for the rule.
template <class R, class Code>
using RuleFunction = void (*)(const tq::detail::CodeLimits& limits,
                              const tq::detail::RuleNumbers<R>& numbers, const std::int32_t* sums,
                              Code* out, std::size_t n) noexcept;

/// The rows of a rounding rule.
template <class R>
struct RuleRows {
  RuleFunction<R, std::int8_t> of_int8;
  RuleFunction<R, std::uint8_t> of_uint8;
};

/// The rows of some rules.
template <class... R>
struct RuleTable {
  std::tuple<RuleRows<R>...> rows;
};
/// The rows of all rules that have lanes.
using AllRules =
    RuleTable<RequantizeFloat, RequantizeTorch, RequantizeDouble, RequantizeSingle, RequantizeUp>;

/// The functions of one instruction set, but for products of bytes.
struct Products {
  TileFunction<std::int16_t> pairs;
  TakeFunction take_16, take_64;  ///< of panels of so many columns
  DepthwiseFunction<std::int8_t> depthwise_int8;
  DepthwiseFunction<std::uint8_t> depthwise_uint8;
  SumsFunction rescale;
  AllRules rules;
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

// The rule of a table that rounds as R does, or void.
template <class R, class Table>
struct rule_of {
  using type = void;
};
template <class R, class First, class... Others>
struct rule_of<R, kernel_library::RuleTable<First, Others...>> {
  using type = typename std::conditional_t<std::derived_from<R, First>, std::type_identity<First>,
                                           rule_of<R, kernel_library::RuleTable<Others...>>>::type;
};
template <class R>
using library_rule = typename rule_of<R, kernel_library::AllRules>::type;

template <class Rule, class Code>
[[nodiscard]] kernel_library::RuleFunction<Rule, Code> library_rows() noexcept {
  const auto& rows =
      std::get<kernel_library::RuleRows<Rule>>(kernel_library::products().rules.rows);
  if constexpr (std::is_signed_v<Code>) return rows.of_int8;
  else return rows.of_uint8;
}

}  // namespace tq::detail
