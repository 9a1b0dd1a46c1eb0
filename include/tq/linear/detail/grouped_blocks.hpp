// SPDX-License-Identifier: MIT
#pragma once
// Blocks of rows times panels of grouped weights: what GroupedLinear hands to the threads of an
// executor.

#include <tq/core/detail/small_buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/linear/detail/float_rows.hpp>
#include <tq/linear/detail/group_kernels.hpp>
#include <tq/linear/grouped_weights.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tq::detail {

// Calls f.template operator()<Bits>() for what weights are packed as.
template <class Arch, class F>
void with_level_bits(const WeightLevels& map, const F& f) {
  using namespace kernels;
  constexpr bool has_wide = GroupKernels<Arch>::has_wide;
  const bool wide = has_wide && map.highest > 31;
  if (map.width == 2) return f.template operator()<LevelBits<2, false, false>>();
  if (map.width == 3) return f.template operator()<LevelBits<3, false, false>>();
  if (map.width == 4 && !map.has_table) return f.template operator()<LevelBits<4, false, false>>();
  if constexpr (has_wide) {
    if (wide && map.width == 4) return f.template operator()<LevelBits<4, true, true>>();
    if (wide) return f.template operator()<LevelBytes<true>>();
  }
  if (map.width == 4) return f.template operator()<LevelBits<4, true, false>>();
  f.template operator()<LevelBytes<false>>();
}

// The same once they are bytes.
template <class Arch, class F>
void with_level_bytes(const WeightLevels& map, const F& f) {
  if constexpr (GroupKernels<Arch>::has_wide)
    if (map.highest > 31) return f.template operator()<kernels::LevelBytes<true>>();
  f.template operator()<kernels::LevelBytes<false>>();
}

// A panel's levels as bytes, taken apart into `scratch` unless they are.
template <class Arch>
const std::uint8_t* level_bytes(const GroupedWeights& w, std::size_t panel, std::uint8_t* scratch) {
  const kernels::GroupPanel p = w.panel(panel);
  if (w.map().width == 8) return p.codes;
  with_level_bits<Arch>(w.map(), [&]<class Bits>() {
    GroupKernels<Arch>::template levels<Bits>(
        p.codes, w.groups() * w.padded_group_size() / Bits::inputs, p.table, scratch);
  });
  return scratch;
}

// Whether groups are as long as they are packed, all of them.
inline bool is_unpadded(const GroupedWeights& w) noexcept {
  return w.groups() * w.padded_group_size() == w.inputs();
}

// Rows of numbers as multiplication reads them: groups padded with zeros.
template <class Number>
void pad_groups(const Number* x, std::ptrdiff_t step, const GroupedWeights& w, Number* out) {
  const std::size_t padded = w.padded_group_size();
  for (std::size_t g = 0; g < w.groups(); ++g, out += padded) {
    const std::size_t first = g * w.group_size(),
                      count = std::min(w.group_size(), w.inputs() - first);
    const Number* from = x + static_cast<std::ptrdiff_t>(first) * step;
    if (step == 1) std::copy_n(from, count, out);
    else
      for (std::size_t i = 0; i < count; ++i) out[i] = from[static_cast<std::ptrdiff_t>(i) * step];
    std::fill(out + count, out + padded, Number{});
  }
}

// Where a layer's results go.
struct LinearTarget {
  const TensorView<float>& y;

  [[nodiscard]] float* row(std::size_t r) const noexcept {
    return y.data() + static_cast<std::ptrdiff_t>(r) * y.stride(0);
  }
  // Whether rows of a panel may be written where they belong.
  [[nodiscard]] bool takes_panels(std::size_t count) const noexcept {
    return count == kernels::group_columns && y.stride(1) == 1 && y.stride(0) >= 0;
  }
  void store(std::size_t r, std::size_t column, std::size_t count, const float* from) const {
    float* to = row(r);
    for (std::size_t c = 0; c < count; ++c)
      to[static_cast<std::ptrdiff_t>(column + c) * y.stride(1)] = from[c];
  }
  // Some rows of a panel, whose sums over even inputs and over odd ones follow one another, and
  // what is added to them unless it is null.
  void store_sums(std::size_t first, std::size_t rows, std::size_t column, std::size_t count,
                  float* sums, const float* bias = nullptr) const {
    constexpr std::size_t columns = kernels::group_columns;
    for (std::size_t r = 0; r < rows; ++r) {
      float* const even = sums + 2 * r * columns;
      for (std::size_t c = 0; c < columns; ++c) even[c] += even[columns + c];
      for (std::size_t c = 0; bias != nullptr && c < columns; ++c) even[c] += bias[column + c];
      store(first + r, column, count, even);
    }
  }
};

// Panels whose levels a cache of 256 KiB has room for, as bytes.
inline std::size_t panels_at_once(const GroupedWeights& w) noexcept {
  constexpr std::size_t cache = std::size_t{256} << 10;
  const std::size_t panel = w.groups() * w.padded_group_size() * kernels::group_columns;
  return std::clamp(cache / (panel + 1), std::size_t{1}, std::max<std::size_t>(w.panels(), 1));
}

// Some rows of int8, times panels.
template <class Arch>
class Int8Block {
 public:
  // `codes`: dense rows; `scales`: [rows, groups], `row_scales`: [rows], or null.
  Int8Block(const std::int8_t* codes, const float* scales, const float* row_scales,
            const GroupedWeights& w, std::size_t first, std::size_t rows)
      : w_(w),
        first_(first),
        rows_(rows),
        stride_(w.groups() * w.padded_group_size()),
        padded_(is_unpadded(w) ? 0 : rows * stride_),
        codes_(is_unpadded(w) ? codes + first * stride_ : padded_.data()),
        starts_(rows * w.groups()),
        sums_(w.has_offsets() ? rows * w.groups() : 0),
        levels_(rows == 1 || w.map().width == 8
                    ? 0
                    : panels_at_once(w) * stride_ * kernels::group_columns),
        scales_(scales == nullptr ? nullptr : scales + first * w.groups()),
        row_scales_(row_scales == nullptr ? nullptr : row_scales + first) {
    if (!is_unpadded(w))
      for (std::size_t r = 0; r < rows; ++r)
        pad_groups(codes + (first + r) * w.inputs(), 1, w, padded_.data() + r * stride_);
    const std::int32_t zero = w.has_zero_points() ? 1 : w.map().zero;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      const std::int32_t of_group = sum(codes_ + i * w.padded_group_size());
      starts_.data()[i] = -zero * of_group;
      if (w.has_offsets()) sums_.data()[i] = static_cast<float>(of_group);  // below 2^24
    }
  }

  // Panels [begin, end). One row reads them as they are packed; of many rows some go through a few
  // panels at a time, so that results of a row lie together.
  void multiply(std::size_t begin, std::size_t end, const float* bias, const LinearTarget& to) {
    if (rows_ == 1)
      return with_level_bits<Arch>(w_.map(), [&]<class Bits>() {
        for (std::size_t p = begin; p < end; ++p) multiply_tile<Bits>(0, p, panel(p, bias), to);
      });
    for (std::size_t p = begin; p < end; p += panels_at_once(w_)) {
      const std::size_t some = std::min(panels_at_once(w_), end - p);
      for (std::size_t i = 0; i < some && w_.map().width != 8; ++i)
        static_cast<void>(level_bytes<Arch>(w_, p + i, levels(i)));
      with_level_bytes<Arch>(w_.map(), [&]<class Bits>() {
        for (std::size_t r = 0; r < rows_; r += GroupKernels<Arch>::tile_rows())
          for (std::size_t i = 0; i < some; ++i) {
            kernels::GroupPanel of = panel(p + i, bias);
            if (w_.map().width != 8) of.codes = levels(i);
            multiply_tile<Bits>(r, p + i, of, to);
          }
      });
    }
  }

 private:
  [[nodiscard]] std::int32_t sum(const std::int8_t* group) const noexcept {
    std::int32_t s = 0;
    for (std::size_t i = 0; i < w_.padded_group_size(); i += 16)
      for (std::size_t j = 0; j < 16; ++j) s += group[i + j];
    return s;
  }
  [[nodiscard]] std::uint8_t* levels(std::size_t i) noexcept {
    return levels_.data() + i * stride_ * kernels::group_columns;
  }
  [[nodiscard]] kernels::GroupPanel panel(std::size_t i, const float* bias) const noexcept {
    kernels::GroupPanel p = w_.panel(i);
    if (bias != nullptr) p.bias = bias + i * kernels::group_columns;
    return p;
  }

  // A tile of rows from r on, times a panel.
  template <class Bits>
  void multiply_tile(std::size_t r, std::size_t panel, const kernels::GroupPanel& p,
                     const LinearTarget& to) const {
    using Kernels = GroupKernels<Arch>;
    constexpr std::size_t columns_of_panel = kernels::group_columns;
    const std::size_t column = panel * columns_of_panel,
                      rows = std::min(Kernels::tile_rows(), rows_ - r),
                      count = std::min(columns_of_panel, w_.outputs() - column);
    const kernels::GroupExtent extent{w_.groups(), w_.padded_group_size() / Bits::inputs};
    const kernels::GroupRows x{codes_ + r * stride_,
                               stride_,
                               starts_.data() + r * w_.groups(),
                               scales_ == nullptr ? nullptr : scales_ + r * w_.groups(),
                               row_scales_ == nullptr ? nullptr : row_scales_ + r,
                               w_.has_offsets() ? sums_.data() + r * w_.groups() : nullptr};
    if (to.takes_panels(count))
      return Kernels::template tile<Bits>(rows, x, p, extent, to.row(first_ + r) + column,
                                          static_cast<std::size_t>(to.y.stride(0)));
    float tile[Kernels::most_tile_rows * columns_of_panel];
    Kernels::template tile<Bits>(rows, x, p, extent, tile, columns_of_panel);
    for (std::size_t i = 0; i < rows; ++i)
      to.store(first_ + r + i, column, count, tile + i * columns_of_panel);
  }

  const GroupedWeights& w_;
  std::size_t first_, rows_, stride_;
  SmallBuffer<std::int8_t, 1024> padded_;
  const std::int8_t* codes_;
  SmallBuffer<std::int32_t, 64> starts_;
  SmallBuffer<float, 64> sums_;  // of the numbers of groups, for weights with offsets
  SmallBuffer<std::uint8_t, 1> levels_;
  const float *scales_, *row_scales_;
};

// Some rows of floats, times panels.
template <class Arch>
class FloatBlock {
 public:
  FloatBlock(const ConstTensorView& x, const GroupedWeights& w, std::size_t first, std::size_t rows)
      : w_(w),
        first_(first),
        rows_(rows, w.groups() * w.padded_group_size(),
              [&](std::size_t r, float* row) {
                pad_groups(x.data() + static_cast<std::ptrdiff_t>(first + r) * x.stride(0),
                           x.stride(1), w, row);
              }),
        levels_(w.map().width == 8 ? 0 : rows_.inputs() * columns),
        values_(FloatRows::step * columns),
        sums_(rows * 2 * columns) {}

  // Panels [begin, end).
  void multiply(std::size_t begin, std::size_t end, const float* bias, const LinearTarget& to) {
    for (std::size_t p = begin; p < end; ++p) multiply_panel(p, bias, to);
  }

 private:
  static constexpr std::size_t columns = kernels::group_columns;

  void multiply_panel(std::size_t panel, const float* bias, const LinearTarget& to) {
    std::ranges::fill(sums_.span(), 0.0f);
    const std::uint8_t* levels = level_bytes<Arch>(w_, panel, levels_.data());
    for (std::size_t k = 0; k < rows_.inputs(); k += FloatRows::step) {
      find_values(panel, k, levels);
      rows_.template add_products<Arch>(k, 0, rows_.length(k), values_.data(), sums_.data());
    }
    const std::size_t column = panel * columns, count = std::min(columns, w_.outputs() - column);
    to.store_sums(first_, rows_.rows(), column, count, sums_.data(), bias);
  }

  // The values of a step of inputs from k on, by the groups that they are of.
  void find_values(std::size_t panel, std::size_t k, const std::uint8_t* levels) {
    const kernels::GroupPanel p = w_.panel(panel);
    const std::size_t padded = w_.padded_group_size(), end = k + rows_.length(k);
    for (std::size_t i = k; i < end;) {
      const std::size_t g = i / padded, n = std::min((g + 1) * padded, end) - i;
      const kernels::GroupValues of{
          p.scales + g * columns, p.zeros == nullptr ? nullptr : p.zeros + g * columns,
          w_.map().zero, w_.map().has_levels ? nullptr : w_.map().reals.data(),
          p.offsets == nullptr ? nullptr : p.offsets + g * columns};
      GroupKernels<Arch>::values(levels + i * columns, n, of, values_.data() + (i - k) * columns);
      i += n;
    }
  }

  const GroupedWeights& w_;
  std::size_t first_;
  FloatRows rows_;
  SmallBuffer<std::uint8_t, 4096> levels_;
  SmallBuffer<float, FloatRows::step * columns> values_;
  SmallBuffer<float, 4 * 2 * columns> sums_;
};

// Rows that a block has: as many as a cache of 256 KiB has room for, and whole tiles.
inline std::size_t grouped_block_rows(std::size_t row_bytes, std::size_t tile) noexcept {
  constexpr std::size_t most = 192, cache = std::size_t{256} << 10;
  return std::clamp(cache / (row_bytes + 1) / tile, std::size_t{1}, most / tile) * tile;
}

// Calls task(first row, rows, first panel, last panel) for parts of a product, from the threads of
// an executor: small ones in any order, so that a thread that was held up does fewer.
template <class Task, Executor E>
void for_each_part(std::size_t rows, std::size_t block, std::size_t panels, const Task& task,
                   const E& executor) {
  if (rows == 0 || panels == 0) return;
  const std::size_t blocks = (rows + block - 1) / block,
                    threads = std::max<std::size_t>(executor.concurrency(), 1),
                    cuts = threads == 1 ? 1
                                        : std::clamp((4 * threads + blocks - 1) / blocks,
                                                     std::size_t{1}, panels);
  executor(blocks * cuts, [&](std::size_t i) {
    const std::size_t first = i / cuts * block, cut = i % cuts;
    task(first, std::min(block, rows - first), cut * panels / cuts, (cut + 1) * panels / cuts);
  });
}

}  // namespace tq::detail
