// SPDX-License-Identifier: MIT
#pragma once
// matmul_integer: products of matrices of integers, exact.

#include <tq/arch/isa.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/kernels/gemm.hpp>
#include <tq/linear/packed_weights.hpp>
#include <tq/ops/checks.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

namespace tq {

/// What products are summed in.
template <class Sum>
concept SumType = std::same_as<Sum, std::int32_t> || std::same_as<Sum, std::int64_t>;

namespace detail {

// Codes of [rows, inputs] that are multiplied, and their zero points: none, one, or one a row.
template <ByteCode Code>
struct GemmRows {
  TensorView<const Code> codes;
  std::span<const std::int32_t> zero_points;

  [[nodiscard]] std::size_t size() const noexcept { return codes.shape()[0]; }
  [[nodiscard]] std::int32_t zero_point(std::size_t row) const noexcept {
    return zero_points.empty() ? 0 : zero_points.size() == 1 ? zero_points[0] : zero_points[row];
  }

  // Row `row` less its zero point, and the sum of that.
  std::int64_t widen(std::size_t row, std::int16_t* out) const noexcept {
    const std::int32_t zero = zero_point(row);
    const Code* x = codes.data() + static_cast<std::ptrdiff_t>(row) * codes.stride(0);
    const std::size_t n = codes.shape()[1];
    const std::ptrdiff_t step = codes.stride(1);
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const std::int32_t v = x[static_cast<std::ptrdiff_t>(k) * step] - zero;
      out[k] = static_cast<std::int16_t>(v);
      sum += v;
    }
    if (n % 2 != 0) out[n] = 0;
    return sum;
  }
};

template <ByteCode Code>
void require_product(const char* function, const GemmRows<Code>& x, const PackedWeights& w) {
  const Shape& shape = x.codes.shape();
  if (shape.rank() != 2 || shape[1] != w.inputs())
    raise(errc::shape_mismatch,
          std::string(function) + ": expected rows of " + std::to_string(w.inputs()) +
              " codes, as the weights have inputs, got shape " + to_string(shape));
  if (!x.zero_points.empty() && x.zero_points.size() != 1 && x.zero_points.size() != shape[0])
    raise(errc::shape_mismatch, std::string(function) + ": expected 0, 1 or " +
                                    std::to_string(shape[0]) + " zero points, got " +
                                    std::to_string(x.zero_points.size()));
  using limits = std::numeric_limits<Code>;
  for (const std::int32_t z : x.zero_points)
    if (z < limits::min() || z > limits::max())
      raise(errc::bad_zero_point, std::string(function) + ": expected zero points from " +
                                      std::to_string(int{limits::min()}) + " to " +
                                      std::to_string(int{limits::max()}) + ", got " +
                                      std::to_string(z));
}

// Whether no sum of these weights leaves 32 bits, whatever the codes are.
inline bool fits_32_bits(const PackedWeights& w) noexcept {
  return w.reach() <= std::numeric_limits<std::int32_t>::max() / 255;
}

// Some rows as numbers of 16 bits, times panels. Rows have a size(), and widen(row, out), which
// writes the numbers of one, and a zero where they are odd, and returns their sum: see GemmRows.
template <class Arch, class Sum, class Rows>
class GemmBlock {
 public:
  static constexpr std::size_t columns_of_panel = kernels::panel_columns;
  using Tile = std::array<Sum, kernels::tile_rows<Arch> * columns_of_panel>;

  GemmBlock(const Rows& x, const PackedWeights& w, std::size_t first, std::size_t rows)
      : w_(w), first_(first), rows_(rows), numbers_(rows * 2 * w.pairs()), row_sums_(rows) {
    for (std::size_t r = 0; r < rows; ++r)
      row_sums_.data()[r] = x.widen(first + r, numbers_.data() + r * 2 * w.pairs());
  }

  // Calls sink(row, first column, count, sums) for every row of a panel.
  template <class Sink>
  void multiply(std::size_t panel, const Sink& sink) const {
    const std::size_t column = panel * columns_of_panel,
                      count = std::min(columns_of_panel, w_.outputs() - column);
    Tile sums;
    for (std::size_t r = 0; r < rows_; r += kernels::tile_rows<Arch>) {
      const std::size_t rows = std::min(kernels::tile_rows<Arch>, rows_ - r);
      sum_tile(panel, r, rows, sums);
      for (std::size_t i = 0; i < rows; ++i) {
        Sum* s = sums.data() + i * columns_of_panel;
        if (w_.has_zero_points())
          for (std::size_t c = 0; c < count; ++c)
            s[c] = less(s[c], row_sums_.data()[r + i] * w_.zero_point(column + c));
        sink(first_ + r + i, column, count, static_cast<const Sum*>(s));
      }
    }
  }

 private:
  // Modulo 2^32 where sums are of 32 bits: what is summed in all fits.
  static Sum less(Sum a, std::int64_t b) noexcept {
    return static_cast<Sum>(static_cast<std::make_unsigned_t<Sum>>(a) -
                            static_cast<std::make_unsigned_t<Sum>>(b));
  }

  void sum_tile(std::size_t panel, std::size_t r, std::size_t rows, Tile& sums) const noexcept {
    const std::size_t row = 2 * w_.pairs();
    const std::int16_t* x = numbers_.data() + r * row;
    if constexpr (std::same_as<Sum, std::int32_t>) {
      kernels::gemm_tile<Arch>(rows, x, row, w_.panel(panel), w_.pairs(), sums.data());
    } else {
      sums.fill(0);
      std::array<std::int32_t, kernels::tile_rows<Arch> * columns_of_panel> part;
      for (std::size_t k = 0; k < w_.pairs(); k += kernels::safe_pairs) {
        kernels::gemm_tile<Arch>(rows, x + 2 * k, row, w_.panel(panel) + 2 * columns_of_panel * k,
                                 std::min(kernels::safe_pairs, w_.pairs() - k), part.data());
        for (std::size_t i = 0; i < rows * columns_of_panel; ++i) sums[i] += part[i];
      }
    }
  }

  const PackedWeights& w_;
  std::size_t first_, rows_;
  Buffer<std::int16_t> numbers_;
  Buffer<std::int64_t> row_sums_;
};

// Rows that a block has: as many as a cache of 256 KiB has room for, and whole tiles.
template <class Arch>
std::size_t block_rows(const PackedWeights& w) noexcept {
  constexpr std::size_t tile = kernels::tile_rows<Arch>, most = 48, cache = std::size_t{256} << 10;
  const std::size_t room = cache / (4 * w.pairs() + 1);
  return std::clamp(room / tile, std::size_t{1}, most / tile) * tile;
}

// Calls sink(row, first column, count, sums) for all of x times w, from the threads of an executor.
// Sums are of the type that they are asked for in, which has room for them.
template <class Arch, class Sum, class Rows, class Sink, Executor E>
void multiply(const Rows& x, const PackedWeights& w, const Sink& sink, const E& executor) {
  const std::size_t rows = x.size(), panels = w.panels();
  if (rows == 0 || panels == 0) return;
  const std::size_t block = block_rows<Arch>(w), blocks = (rows + block - 1) / block;
  // Small tasks in any order: a thread that was held up does fewer.
  const std::size_t threads = std::max<std::size_t>(executor.concurrency(), 1);
  const std::size_t cuts =
      threads == 1 ? 1 : std::clamp((4 * threads + blocks - 1) / blocks, std::size_t{1}, panels);
  executor(blocks * cuts, [&](std::size_t task) {
    const std::size_t first = task / cuts * block, cut = task % cuts;
    const GemmBlock<Arch, Sum, Rows> numbers(x, w, first, std::min(block, rows - first));
    for (std::size_t p = cut * panels / cuts; p < (cut + 1) * panels / cuts; ++p)
      numbers.multiply(p, sink);
  });
}

}  // namespace detail

/// out[m, n] = sum over k of (x[m, k] - x_zero_points[m]) * (weights[n, k] - its zero point),
/// exact. `x`: [rows, inputs], of any strides; `x_zero_points`: none, one, or one a row; `out`:
/// [rows, outputs] of 32 or 64 bits. No inputs give zeros. Throws: `errc::shape_mismatch`,
/// `errc::bad_zero_point`; `errc::bad_argument` where `out` is of 32 bits and the weights are so
/// many, and so large, that a sum might not fit, before anything is written.
template <class Arch = arch::native, ByteCode Code, SumType Out, Executor E = Serial>
void matmul_integer(const TensorView<const Code>& x, std::span<const std::int32_t> x_zero_points,
                    const PackedWeights& weights, const TensorView<Out>& out,
                    const E& executor = serial) {
  const detail::GemmRows<Code> rows{x, x_zero_points};
  detail::require_product("tq::matmul_integer", rows, weights);
  detail::require_shape("tq::matmul_integer", "an output", Shape{x.shape()[0], weights.outputs()},
                        out.shape());
  const bool fits = detail::fits_32_bits(weights);
  if (std::same_as<Out, std::int32_t> && !fits)
    raise(errc::bad_argument, "tq::matmul_integer: expected sums of 32 bits, got " +
                                  std::to_string(weights.inputs()) +
                                  " inputs with weights whose magnitudes sum to " +
                                  std::to_string(weights.reach()) + ": give an output of 64 bits");
  const auto store = [&](std::size_t row, std::size_t column, std::size_t count, const auto* sums) {
    Out* to = out.data() + static_cast<std::ptrdiff_t>(row) * out.stride(0);
    for (std::size_t c = 0; c < count; ++c)
      to[static_cast<std::ptrdiff_t>(column + c) * out.stride(1)] = sums[c];
  };
  if (fits) return detail::multiply<Arch, std::int32_t>(rows, weights, store, executor);
  if constexpr (std::same_as<Out, std::int64_t>)
    detail::multiply<Arch, std::int64_t>(rows, weights, store, executor);
}

}  // namespace tq
