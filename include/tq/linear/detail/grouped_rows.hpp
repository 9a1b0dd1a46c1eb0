// SPDX-License-Identifier: MIT
#pragma once
// GroupedRows: a few rows of floats, times panels of grouped weights as they are packed.

#include <tq/core/detail/small_buffer.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/linear/detail/group_kernels.hpp>
#include <tq/linear/detail/grouped_blocks.hpp>
#include <tq/linear/grouped_weights.hpp>

#include <algorithm>
#include <cstddef>

namespace tq::detail {

/// The product of a few rows, which uses each weight so rarely that it is not worth storing as a
/// float. The results are those of `FloatBlock`, bit for bit.
template <class Arch>
class GroupedRows {
 public:
  /// The most rows for which reading packed weights is the faster way: two tiles, or one row. Code
  /// books with offsets are read by `FloatBlock` only.
  static std::size_t most(const GroupedWeights& w) {
    if (w.has_offsets() && w.map().is_coded) return 0;
    std::size_t rows = 0;
    with_plain_bits(w, [&]<class Bits>() { rows = GroupKernels<Arch>::template row_rows<Bits>(); });
    return rows == 1 ? 1 : 2 * rows;
  }

  GroupedRows(const ConstTensorView& x, const GroupedWeights& w)
      : w_(w),
        rows_(x.shape()[0]),
        stride_(w.groups() * w.padded_group_size()),
        numbers_(rows_ * stride_) {
    for (std::size_t r = 0; r < rows_; ++r)
      pad_groups(x.data() + static_cast<std::ptrdiff_t>(r) * x.stride(0), x.stride(1), w,
                 numbers_.data() + r * stride_);
  }

  /// Panels [begin, end).
  void multiply(std::size_t begin, std::size_t end, const float* bias,
                const LinearTarget& to) const {
    with_plain_bits(w_, [&]<class Bits>() {
      const bool has_reals = !w_.map().has_levels;
      for (std::size_t p = begin; p < end; ++p) {
        if constexpr (Bits::width == 4 && !Bits::has_table)
          if (has_reals) {
            multiply_panel<Bits, true, false>(p, bias, to);
            continue;
          }
        if constexpr (!Bits::has_table)
          if (w_.has_offsets()) {
            multiply_panel<Bits, false, true>(p, bias, to);
            continue;
          }
        multiply_panel<Bits, false, false>(p, bias, to);
      }
    });
  }

 private:
  static constexpr std::size_t columns = kernels::group_columns;

  // Levels of any size are alike to floats.
  template <class F>
  static void with_plain_bits(const GroupedWeights& w, const F& f) {
    with_level_bits<Arch>(w.map(), [&]<class Bits>() {
      f.template operator()<kernels::LevelBits<Bits::width, Bits::has_table, false>>();
    });
  }

  template <class Bits, bool Reals, bool Offsets>
  void multiply_panel(std::size_t panel, const float* bias, const LinearTarget& to) const {
    const kernels::GroupPanel p = w_.panel(panel);
    const kernels::GroupValues of{p.scales, p.zeros, w_.map().zero, w_.map().reals.data(),
                                  p.offsets};
    const kernels::GroupExtent extent{w_.groups(), w_.padded_group_size() / Bits::inputs};
    const std::size_t column = panel * columns, count = std::min(columns, w_.outputs() - column);
    const std::size_t tile = GroupKernels<Arch>::template row_rows<Bits>();
    float sums[GroupKernels<Arch>::template most_row_rows<Bits> * 2 * columns];
    for (std::size_t r = 0; r < rows_; r += tile) {
      const std::size_t rows = std::min(tile, rows_ - r);
      GroupKernels<Arch>::template row<Bits, Reals, Offsets>(rows, numbers_.data() + r * stride_,
                                                             stride_, p, extent, of, sums);
      to.store_sums(r, rows, column, count, sums, bias);
    }
  }

  const GroupedWeights& w_;
  std::size_t rows_, stride_;
  SmallBuffer<float, 512> numbers_;
};

}  // namespace tq::detail
