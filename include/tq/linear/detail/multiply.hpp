// SPDX-License-Identifier: MIT
#pragma once
// multiply: the loops of products of matrices, the same for all instruction sets. Blocks of rows
// and some panels each are tasks; a task multiplies panel by panel, and of each as many rows at
// once as registers have room for.

#include <tq/arch/byte_dot.hpp>
#include <tq/config.hpp>
#include <tq/core/executor.hpp>
#include <tq/driver/gemm_tuning.hpp>
#include <tq/kernels/gemm.hpp>
#include <tq/linear/detail/library_products.hpp>
#include <tq/linear/detail/row_block.hpp>
#include <tq/linear/detail/take_multiple.hpp>
#include <tq/linear/packed_weights.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq {

/// The integers that products are summed in.
template <class Sum>
concept SumType = std::same_as<Sum, std::int32_t> || std::same_as<Sum, std::int64_t>;

namespace detail {

// A sink is called with (row, first column, count, sums), for the sums of a part of a row. A sink
// whose rows are contiguous sums may say so, and where the sums of a row begin: whole panels are
// then summed there.
template <class Sink, class Sum>
concept SinkInPlace = requires(const Sink& sink, std::size_t i) {
  { sink.in_place() } -> std::same_as<bool>;
  { sink.place(i, i) } -> std::same_as<kernels::TileRows<Sum>>;
};

// A dot of the kernel library.
template <class Dot>
concept LibraryDot = requires { Dot::tile(); };

// As `kernels::gemm_tile`.
template <class Dot>
void tile(std::size_t rows, kernels::TileRows<const typename Dot::number> x,
          const std::int8_t* panel, std::size_t steps, kernels::TileRows<std::int32_t> sums,
          kernels::Start start) noexcept {
  if constexpr (LibraryDot<Dot>) Dot::tile()(rows, x, panel, steps, sums, start);
  else kernels::gemm_tile<Dot>(rows, x, panel, steps, sums, start);
}

// A block of rows times panels of weights that lie as Dot reads them. Sums of 64 bits are those of
// pairs, part by part.
template <class Dot, SumType Sum>
class GemmBlock {
 public:
  static constexpr std::size_t columns = Dot::columns;

  template <class Rows>
  GemmBlock(const Rows& x, const PackedWeights& w, std::size_t first, std::size_t rows)
      : w_(w), first_(first), rows_(rows), x_(x, first, rows, w.inputs(), w.has_zero_points()) {}

  // Gives the sums of every row of a panel to a sink.
  template <class Sink>
  void multiply(std::size_t panel, const Sink& sink) const {
    const std::size_t column = panel * columns, count = std::min(columns, w_.outputs() - column);
    alignas(64) std::array<Sum, Dot::rows * columns> tile;  // no register crosses lines
    for (std::size_t r = 0; r < rows_; r += Dot::rows) {
      const std::size_t rows = std::min(Dot::rows, rows_ - r);
      kernels::TileRows<Sum> sums{tile.data(), columns};
      bool in_place = false;
      if constexpr (SinkInPlace<Sink, Sum>)
        if (count == columns && sink.in_place())
          in_place = true, sums = sink.place(first_ + r, column);
      sum_tile(panel, r, rows, sums);
      for (std::size_t i = 0; i < rows; ++i) {
        take_zero_points(panel, r + i, sums[i]);
        if (!in_place) sink(first_ + r + i, column, count, static_cast<const Sum*>(sums[i]));
      }
    }
  }

 private:
  void sum_tile(std::size_t panel, std::size_t r, std::size_t rows,
                kernels::TileRows<Sum> sums) const noexcept {
    if constexpr (std::same_as<Sum, std::int32_t>) {
      add_steps(panel, r, rows, 0, x_.steps(), sums);
      if (x_.end(r) != nullptr) add_end(panel, r, rows, sums, kernels::Start::sums);
    } else {
      for (std::size_t i = 0; i < rows; ++i) std::fill_n(sums[i], columns, Sum{0});
      alignas(64) std::array<std::int32_t, Dot::rows * columns> part;
      const kernels::TileRows<std::int32_t> to{part.data(), columns};
      const std::size_t safe = kernels::safe_pairs(x_.reach());
      for (std::size_t k = 0; k < x_.steps(); k += safe) {
        add_steps(panel, r, rows, k, std::min(safe, x_.steps() - k), to);
        add_part(rows, part, sums);
      }
      if (x_.end(r) == nullptr) return;
      add_end(panel, r, rows, to, kernels::Start::zero);
      add_part(rows, part, sums);
    }
  }
  static void add_part(std::size_t rows, const std::array<std::int32_t, Dot::rows * columns>& part,
                       kernels::TileRows<Sum> sums) noexcept {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t c = 0; c < columns; ++c) sums[i][c] += part[i * columns + c];
  }
  void add_steps(std::size_t panel, std::size_t r, std::size_t rows, std::size_t first,
                 std::size_t steps, kernels::TileRows<std::int32_t> sums) const noexcept {
    tile<Dot>(rows, {x_.numbers(r) + Dot::depth * first, x_.stride()}, weights(panel, first), steps,
              sums, kernels::Start::zero);
  }
  // Adds the step behind the steps that lie in the rows.
  void add_end(std::size_t panel, std::size_t r, std::size_t rows,
               kernels::TileRows<std::int32_t> sums, kernels::Start start) const noexcept {
    tile<Dot>(rows, {x_.end(r), Dot::depth}, weights(panel, x_.steps()), 1, sums, start);
  }
  [[nodiscard]] const std::int8_t* weights(std::size_t panel, std::size_t step) const noexcept {
    return w_.panel(panel) + step * columns * Dot::depth;
  }

  // Takes the part of zero points, of rows and of weights, from the sums: modulo 2^32 for sums of
  // 32 bits, as the totals fit. Rows with sums of 64 bits have no zero points here, as sums of
  // columns are of 32.
  void take_zero_points(std::size_t panel, std::size_t r, Sum* sums) const noexcept {
    if (x_.zero(r) != 0) take(sums, x_.zero(r), w_.column_sums(panel));
    if (w_.has_zero_points()) take(sums, x_.sum(r), w_.zero_points(panel));
  }
  static void take(Sum* sums, std::int64_t factor, const std::int32_t* of_column) noexcept {
    if constexpr (LibraryDot<Dot> && std::same_as<Sum, std::int32_t>)
      (columns == 16 ? kernel_library::products().take_16 : kernel_library::products().take_64)(
          sums, factor, of_column);
    else take_multiple<columns>(sums, factor, of_column);
  }

  const PackedWeights& w_;
  std::size_t first_, rows_;
  RowBlock<Dot> x_;
};

// How a product is cut into tasks: blocks of rows, and panels into as many parts.
struct GemmTasks {
  std::size_t block, blocks, cuts;
};
template <class Dot>
GemmTasks gemm_tasks(std::size_t rows, const PackedWeights& w, std::size_t threads) noexcept {
  constexpr driver::GemmTuning tuning = driver::gemm_tuning;
  const std::size_t row_bytes = w.steps() * Dot::depth * sizeof(typename Dot::number) + 1,
                    most = tuning.block_rows / Dot::rows,
                    tiles = std::clamp(tuning.block_bytes / row_bytes / Dot::rows, std::size_t{1},
                                       most);
  const std::size_t block = tiles * Dot::rows, blocks = (rows + block - 1) / block;
  if (threads <= 1) return {block, blocks, 1};
  const std::size_t wanted = (tuning.tasks_per_thread * threads + blocks - 1) / blocks,
                    products = std::min(block, rows) * w.outputs() * w.inputs(),
                    worth = products / tuning.task_products;
  return {block, blocks, std::clamp(std::min(wanted, worth), std::size_t{1}, w.panels())};
}

template <class Dot, SumType Sum, class Rows, class Sink, Executor E>
void multiply_panels(const Rows& x, const PackedWeights& w, const Sink& sink, const E& executor) {
  const std::size_t rows = x.size(), panels = w.panels();
  if (rows == 0 || panels == 0) return;
  const GemmTasks tasks =
      gemm_tasks<Dot>(rows, w, std::max<std::size_t>(executor.concurrency(), 1));
  executor(tasks.blocks * tasks.cuts, [&](std::size_t task) {
    const std::size_t first = task / tasks.cuts * tasks.block, cut = task % tasks.cuts;
    const GemmBlock<Dot, Sum> block(x, w, first, std::min(tasks.block, rows - first));
    for (std::size_t p = cut * panels / tasks.cuts; p < (cut + 1) * panels / tasks.cuts; ++p)
      block.multiply(p, sink);
  });
}

// The bytes that rows are made of where a dot may choose: where these lie.
template <class Rows>
struct row_number {
  using type = std::uint8_t;
};
template <ByteCode Code>
struct row_number<GemmRows<Code>> {
  using type = Code;
};

// Multiplies by the dots of an instruction set of the compiler flags.
template <class Arch, SumType Sum, class Rows, class Sink, Executor E>
void multiply_natively(const Rows& x, const PackedWeights& w, const Sink& sink, const E& executor) {
  using pairs = arch::pair_dot<Arch>;
  using bytes = arch::best_dot<Arch, typename row_number<Rows>::type>;
  using best = std::conditional_t<sizeof(Sum) == 4, bytes, pairs>;
  if (w.layout() == kernels::layout_of<best>)
    return multiply_panels<best, Sum>(x, w, sink, executor);
  if (w.layout() == kernels::layout_of<pairs>)
    return multiply_panels<pairs, Sum>(x, w, sink, executor);
  multiply_natively<Arch, Sum>(x, w.repacked(kernels::layout_of<best>), sink, executor);
}

// Multiplies by the dots of the kernel library.
template <SumType Sum, class Rows, class Sink, Executor E>
void multiply_by_library(const Rows& x, const PackedWeights& w, const Sink& sink,
                         const E& executor) {
  if (w.layout() == PanelLayout::pairs_of_16)
    return multiply_panels<LibraryPairs, Sum>(x, w, sink, executor);
  const PanelLayout best =
      sizeof(Sum) == 4 ? kernel_library::byte_products().layout : PanelLayout::pairs_of_16;
  if (w.layout() != best) return multiply_by_library<Sum>(x, w.repacked(best), sink, executor);
  if constexpr (sizeof(Sum) == 4) {
    if (best == PanelLayout::fours_of_64)
      return multiply_panels<LibraryBytes<64>, Sum>(x, w, sink, executor);
    multiply_panels<LibraryBytes<16>, Sum>(x, w, sink, executor);
  }
}

// Gives all sums of x times w to a sink, from the threads of an executor: see RowBlock for what
// rows are. Sums are of the type that they are asked for in, which has room for them. Weights that
// are packed for another instruction set are laid out anew first.
template <class Arch, SumType Sum, class Rows, class Sink, Executor E>
void multiply(const Rows& x, const PackedWeights& w, const Sink& sink, const E& executor) {
  if constexpr (is_library<Arch>) return multiply_by_library<Sum>(x, w, sink, executor);
  else multiply_natively<Arch, Sum>(x, w, sink, executor);
}

}  // namespace detail
}  // namespace tq
