// SPDX-License-Identifier: MIT
#pragma once
// SeenRanges: the range of every parameter block, and how many values are not finite, found in one
// pass over the values.

#include <tq/core/detail/run.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/real.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/kernels/extremes.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/block_ranges.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

namespace tq::detail {

// How many values were NaN, and how many infinite.
struct NonFiniteCount {
  std::uint64_t nan = 0, infinite = 0;
  template <class Counted>  // this, or kernels::Extremes
  void add(const Counted& other) noexcept {
    nan += other.nan;
    infinite += other.infinite;
  }
};

// The range of a block without a finite value so far.
inline constexpr Range no_range{std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity()};

inline void extend(Range& range, const Range& by) noexcept {
  range = {std::min(range.min, by.min), std::max(range.max, by.max)};
}

// The range with 0 in place of an end of -0.
[[nodiscard]] inline Range without_negative_zeros(const Range& range) noexcept {
  return {range.min + 0.0f, range.max + 0.0f};
}

// Adds runs of a tensor to the ranges of their blocks.
template <Backend B>
class RangeCollector {
 public:
  explicit RangeCollector(std::span<Range> ranges) noexcept : ranges_(ranges) {}

  // The run's elements of the tensor at `x`. Throws: std::bad_alloc.
  template <Real T>
  void add(const T* x, const Run& r) {
    if (r.step != 0 || r.length == 1) columns_.resize(most_columns);
    for_each_widened<B>(x, r, [&](const float* floats, const Run& piece, std::size_t, std::size_t) {
      add_floats(floats + piece.source, piece);
    });
  }
  [[nodiscard]] const NonFiniteCount& not_finite() const noexcept { return not_finite_; }

 private:
  static constexpr std::size_t most_columns = 2048;
  // Rows together are this many floats, which stay in the cache from one look to the next.
  static constexpr std::size_t most_rows = 256, most_floats = 4096;

  void add_floats(const float* x, const Run& r) noexcept {
    if (r.step != 0 && r.param_stride == 0) {
      add_columns(x, r.count, r.length, r.source_stride, r.param, 1);
    } else if (r.step != 0) {
      for (std::size_t k = 0; k < r.count; ++k)
        add_columns(row(x, r, k), 1, r.length, 0, r.param + k * r.param_stride, 1);
    } else if (r.length == 1 && r.source_stride == 1 && r.param_stride != 0) {
      add_columns(x, 1, r.count, 0, r.param, r.param_stride);
    } else if (is_dense(r) && r.param_stride == 0) {
      add_block(r.param, B::min_max::run(x, r.size()));
    } else if (is_dense(r) && r.length <= most_floats / 4) {
      add_short_rows(x, r);
    } else {
      for (std::size_t k = 0; k < r.count; ++k)
        add_block(r.param + k * r.param_stride, B::min_max::run(row(x, r, k), r.length));
    }
  }

  // Dense rows that have a block each: their ends together, after a look at whether they are
  // finite.
  void add_short_rows(const float* x, const Run& r) noexcept {
    float low[most_rows], high[most_rows];
    const std::size_t some = std::min(most_rows, most_floats / r.length);
    for (std::size_t k = 0; k < r.count; k += some) {
      const std::size_t n = std::min(some, r.count - k);
      const float* at = row(x, r, k);
      not_finite_.add(B::min_max::run(at, n * r.length));
      B::min_max::rows(at, n, r.length, r.source_stride, low, high);
      for (std::size_t i = 0; i < n; ++i)
        extend(ranges_[r.param + (k + i) * r.param_stride], {low[i], high[i]});
    }
  }

  // `rows` lines of n values that have a block each, the same ones line after line.
  void add_columns(const float* x, std::size_t rows, std::size_t n, std::ptrdiff_t stride,
                   std::size_t param, std::size_t param_step) noexcept {
    for (std::size_t c = 0; c < n; c += most_columns) {
      const std::size_t some = std::min(most_columns, n - c);
      std::fill_n(columns_.begin(), some, kernels::Extremes{});
      B::min_max::columns(x + c, rows, some, stride, columns_.data());
      for (std::size_t i = 0; i < some; ++i) add_block(param + (c + i) * param_step, columns_[i]);
    }
  }

  void add_block(std::size_t param, const kernels::Extremes& e) noexcept {
    extend(ranges_[param], {e.min, e.max});
    not_finite_.add(e);
  }

  static bool is_dense(const Run& r) noexcept {
    return r.count == 1 || r.source_stride == static_cast<std::ptrdiff_t>(r.length);
  }
  static const float* row(const float* x, const Run& r, std::size_t k) noexcept {
    return x + static_cast<std::ptrdiff_t>(k) * r.source_stride;
  }

  std::span<Range> ranges_;
  NonFiniteCount not_finite_;
  std::vector<kernels::Extremes> columns_;
};

class SeenRanges {
 public:
  // Begins with so many blocks, of which nothing was seen.
  void start(std::size_t blocks) {
    ranges_.assign(blocks, no_range);
    not_finite_ = {};
  }
  [[nodiscard]] std::size_t size() const noexcept { return ranges_.size(); }
  [[nodiscard]] const NonFiniteCount& not_finite() const noexcept { return not_finite_; }

  // The elements of a dense tensor from number `first` on, row-major.
  template <Backend B, Real T>
  void add_part(const Shape& shape, const Shape& block, std::size_t first, std::span<const T> x) {
    RangeCollector<B> collector(ranges_);
    for_each_run_between(shape, block, first, first + x.size(), [&](Run r) {
      r.source -= static_cast<std::ptrdiff_t>(first);
      collector.add(x.data(), r);
    });
    not_finite_.add(collector.not_finite());
  }

  // A whole tensor, on an executor. Tasks share the ranges where no two of them meet a block.
  template <Backend B, Real T, Executor E>
  void add(const TensorView<const T>& x, const Shape& block, const E& executor) {
    const Strides& strides = x.strides();
    const std::size_t blocks = ranges_.size();
    const bool shares = !is_one_task(executor, x.size()) && blocks >= executor.concurrency() &&
                        blocks_are_stretches(x, block, strides, blocks);
    if (!shares && (is_one_task(executor, x.size()) || blocks > task_size / 8)) {
      RangeCollector<B> collector(ranges_);
      for_each_run(x.shape(), block, strides, strides,
                   [&](const Run& r) { collector.add(x.data(), r); });
      return not_finite_.add(collector.not_finite());
    }
    std::mutex merging;
    if (shares) {
      const auto one_row = [](const Run&) { return std::size_t{1}; };
      return for_each_piece(x, block, strides, executor, one_row, [&](const Run& r) {
        RangeCollector<B> collector(ranges_);
        collector.add(x.data(), r);
        const std::lock_guard lock(merging);
        not_finite_.add(collector.not_finite());
      });
    }
    for_each_task(executor, x.shape(), block, strides, strides, [&](auto&& each) {
      std::vector<Range> part(blocks, no_range);
      RangeCollector<B> collector(part);
      each([&](const Run& r) { collector.add(x.data(), r); });
      const std::lock_guard lock(merging);
      merge(part, collector.not_finite());
    });
  }

  // Ends the search: blocks without a finite value get the range of zeros, and no end is -0.
  [[nodiscard]] std::span<Range> finish() noexcept {
    for (Range& r : ranges_) r = r.min <= r.max ? without_negative_zeros(r) : Range{};
    return ranges_;
  }

 private:
  void merge(std::span<const Range> part, const NonFiniteCount& not_finite) noexcept {
    for (std::size_t i = 0; i < part.size(); ++i) extend(ranges_[i], part[i]);
    not_finite_.add(not_finite);
  }

  std::vector<Range> ranges_;  // without a finite value so far: `no_range`
  NonFiniteCount not_finite_;
};

}  // namespace tq::detail
