// SPDX-License-Identifier: MIT
#pragma once
// RowBlock: some rows of a product as a dot (arch/pair_dot.hpp) reads them.

#include <tq/core/detail/small_buffer.hpp>
#include <tq/linear/detail/gemm_rows.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

namespace tq::detail {

// Numbers of rows: in place if they lie as the dot reads them, else in a copy. A row less its zero
// point is its numbers less zero(r). Rows have a size(), and widen(row, out), which writes the
// numbers of a row less its zero point, pads an odd number of them with a zero, and returns their
// sum. GemmRows are taken as codes if the dot multiplies bytes, or codes of their type.
template <class Dot>
class RowBlock {
 public:
  using number = typename Dot::number;
  static constexpr std::size_t depth = Dot::depth;

  // Rows `first` to `first + rows`. `sums`: whether sum(r) will be asked for.
  template <class Rows>
  RowBlock(const Rows& x, std::size_t first, std::size_t rows, std::size_t inputs, bool sums)
      : inputs_(inputs),
        stride_(static_cast<std::ptrdiff_t>((inputs + depth - 1) / depth * depth)),
        zeros_(rows),
        sums_(rows) {
    if constexpr (sizeof(number) == 1 || std::same_as<Rows, GemmRows<number>>)
      take_codes(x, first, rows, sums);
    else widen(x, first, rows);
  }

  [[nodiscard]] const number* numbers(std::size_t r) const noexcept {
    return first_ + static_cast<std::ptrdiff_t>(r) * stride_;
  }
  // Numbers from one row to the next.
  [[nodiscard]] std::ptrdiff_t stride() const noexcept { return stride_; }
  // Steps whose numbers lie in the rows.
  [[nodiscard]] std::size_t steps() const noexcept {
    return ends_.size() == 0 ? (inputs_ + depth - 1) / depth : inputs_ / depth;
  }
  // The step after these, `depth` numbers for each row, or none: what lies behind rows is not read.
  [[nodiscard]] const number* end(std::size_t r) const noexcept {
    return ends_.size() == 0 ? nullptr : ends_.data() + r * depth;
  }
  [[nodiscard]] std::int32_t zero(std::size_t r) const noexcept { return zeros_.data()[r]; }
  // The largest magnitude that a number may have.
  [[nodiscard]] std::size_t reach() const noexcept { return reach_; }
  // The sum of a row less its zero point.
  [[nodiscard]] std::int64_t sum(std::size_t r) const noexcept { return sums_.data()[r]; }

 private:
  template <class Rows>
  void widen(const Rows& x, std::size_t first, std::size_t rows) {
    number* out = copies(rows);
    for (std::size_t r = 0; r < rows; ++r, out += stride_) {
      sums_.data()[r] = x.widen(first + r, out);
      zeros_.data()[r] = 0;
    }
  }

  template <RowCode Code>
  void take_codes(const GemmRows<Code>& x, std::size_t first, std::size_t rows, bool sums) {
    if constexpr (sizeof(Code) == 2) reach_ = 32768;
    if (!lie(x, first, rows)) {
      number* out = copies(rows);
      for (std::size_t r = 0; r < rows; ++r, out += stride_) x.copy(first + r, out);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const std::int32_t zero = x.zero_point(first + r) + GemmRows<Code>::template lower<number>;
      zeros_.data()[r] = zero;
      if (sums)
        sums_.data()[r] = std::accumulate(numbers(r), numbers(r) + inputs_, std::int64_t{0}) -
                          zero * static_cast<std::int64_t>(inputs_);
    }
  }

  // Other rows, from what they are widened to: their numbers spread over 255 at most, as codes do.
  template <class Rows>
  void take_codes(const Rows& x, std::size_t first, std::size_t rows, bool) {
    number* out = copies(rows);
    SmallBuffer<std::int16_t, 1024> wide(inputs_ + 1);
    for (std::size_t r = 0; r < rows; ++r, out += stride_) {
      sums_.data()[r] = x.widen(first + r, wide.data());
      const std::int16_t *begin = wide.data(), *end = begin + inputs_;
      const std::int32_t least = inputs_ == 0 ? 0 : *std::min_element(begin, end),
                         zero = std::numeric_limits<number>::min() - least;
      zeros_.data()[r] = zero;
      std::transform(begin, end, out,
                     [&](std::int16_t v) { return static_cast<number>(v + zero); });
    }
  }

  // Takes rows where they are, if they are such numbers beside each other.
  template <RowCode Code>
  bool lie(const GemmRows<Code>& x, std::size_t first, std::size_t rows) {
    if constexpr (!std::same_as<Code, number>) return false;
    else if (!x.is_dense()) return false;
    else {
      first_ = x.row(first);
      stride_ = x.codes.stride(0);
      if (inputs_ % depth == 0) return true;
      ends_.reset(rows * depth);
      std::fill_n(ends_.data(), ends_.size(), number{0});
      for (std::size_t r = 0; r < rows; ++r)
        std::copy_n(numbers(r) + steps() * depth, inputs_ % depth, ends_.data() + r * depth);
      return true;
    }
  }

  // Room for whole steps of rows, with zeros behind their numbers.
  number* copies(std::size_t rows) {
    const auto stride = static_cast<std::size_t>(stride_);
    copies_.reset(rows * stride);
    first_ = copies_.data();
    for (std::size_t r = 0; r < rows; ++r)
      std::fill_n(copies_.data() + r * stride + inputs_, stride - inputs_, number{0});
    return copies_.data();
  }

  std::size_t inputs_, reach_ = 255;
  std::ptrdiff_t stride_;
  const number* first_ = nullptr;
  SmallBuffer<number, 1024> copies_;
  SmallBuffer<number, 16 * depth> ends_;
  SmallBuffer<std::int32_t, 16> zeros_;
  SmallBuffer<std::int64_t, 16> sums_;
};

}  // namespace tq::detail
