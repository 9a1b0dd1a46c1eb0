// SPDX-License-Identifier: MIT
#pragma once
// TileSweep: elements whose neighbours lie apart, or are packed, by way of tiles.

#include <tq/driver/bits.hpp>
#include <tq/driver/columns.hpp>
#include <tq/driver/plan.hpp>
#include <tq/driver/row_sweep.hpp>
#include <tq/driver/rows.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/table.hpp>
#include <tq/driver/tiles.hpp>
#include <tq/driver/tuning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tq::driver::detail {

/// A sweep by tiles: square ones where the source is turned, else as wide as they can be. Groups
/// are not cut, but those longer than a tile at its end. Precondition: where the target is packed,
/// its rows have neighbours and begin on bytes, and so do groups in them.
template <class Arch>
class TileSweep {
  // Bytes of stack for a tile and its results together: wide elements have smaller
  // tiles.
  static constexpr std::size_t room = 5 * tiles<Arch>::capacity;
  static std::size_t bytes_of(int bits) noexcept {
    return static_cast<std::size_t>(std::max(bits, 8) / 8);
  }

 public:
  TileSweep(BoundLoops<Arch> loops, const Operands& operands, const Span& span,
            const Tuning& tuning) noexcept
      : kernel_(loops.kernel),
        loose_(kernel_.loose != nullptr ? *kernel_.loose : kernel_),
        stage_(loops.stage),
        operands_(operands),
        span_(span),
        tuning_(tuning),
        gathers_(!span.has_neighbours() || kernel_.unpack != nullptr),
        moves_(span.target_step != 1 || kernel_.pack != nullptr) {
    const std::size_t read = gathers_ ? bytes_of(loose_.source_bits) : 0,
                      turned = kernel_.unpack != nullptr ? read : 0,  // it is unpacked as it lies
        made = moves_ ? std::max(bytes_of(loose_.sink_bits), turned) : turned;
    const std::size_t unit = kernel_.pack != nullptr ? 8 : 1,
                      capacity = std::min(tiles<Arch>::capacity, room / (read + made));
    if (span.source_step == 1) {
      width_ = std::min(span.length, capacity);
      rows_ = std::min(span.count, capacity / width_);
    } else {
      // Rows of a tile are long enough for two blocks.
      rows_ = std::min({span.count, tiles<Arch>::side, capacity / (2 * block<Arch>)});
      width_ = std::min(span.length, capacity / rows_ / unit * unit);
    }
    made_ = tile_ + (rows_ * width_ * read + 63) / 64 * 64;
  }

  /// Whether rows are better swept by tiles, as they have groups that are rows but for their
  /// beginning within a byte.
  static bool is_due(const RowLoops<Arch>& kernel, const Span& span, std::size_t group) noexcept {
    const std::size_t read = until_whole_bytes(kernel.source_bits),
                      written = until_whole_bytes(kernel.sink_bits);
    return kernel.loose != nullptr && group < span.length && group % std::max(read, written) != 0 &&
           group * written <= tiles<Arch>::capacity && are_rows<Arch>(group);
  }

  TQ_NO_INLINE void run(const Parameters& p) noexcept {
    for (std::size_t r = 0; r < span_.count; r += rows_)
      for (std::size_t i = 0; i < span_.length;) {
        std::size_t n = std::min(width_, span_.length - i);
        if (p.group > width_) n = p.group == whole_row ? n : std::min(n, p.group - i % p.group);
        else if (n < span_.length - i) n = n / whole_groups(p.group) * whole_groups(p.group);
        const Moved part(p, r, i);
        tile(r, i, std::min(rows_, span_.count - r), n, part.params);
        i += n;
      }
  }

 private:
  // The parameters of what begins with element i of row r, where a group does.
  struct Moved {
    Parameters params;
    Columns columns{};
    Moved(const Parameters& p, std::size_t r, std::size_t i) noexcept : params(p) {
      params.first += r * p.row_step + i / p.group * p.step;
      if (p.columns == nullptr) return;
      columns = {p.columns->all, p.columns->row + r, p.columns->element + i};
      params.columns = &columns;
    }
    Moved(const Moved&) = delete;
    Moved& operator=(const Moved&) = delete;
  };

  void tile(std::size_t r, std::size_t i, std::size_t rows, std::size_t n,
            const Parameters& p) noexcept {
    const auto row = static_cast<std::ptrdiff_t>(r), column = static_cast<std::ptrdiff_t>(i);
    const std::ptrdiff_t from = row * span_.source_stride + column * span_.source_step,
                         at = row * span_.target_stride + column * span_.target_step;
    const bool scatters = span_.target_step != 1;
    if (gathers_) read(from, rows, n);
    unsigned char* to =
        static_cast<unsigned char*>(operands_.target) + bytes_to(at, kernel_.sink_bits);
    const auto pitch = static_cast<std::ptrdiff_t>(width_);
    const Span tile{n, rows, gathers_ ? pitch : span_.source_stride,
                    moves_ ? pitch : span_.target_stride};
    Operands own = operands_;
    own.source = gathers_ ? tile_ : operands_.source;
    own.first = gathers_ ? 0 : operands_.first + from;
    own.target = moves_ ? made_ : to;
    own.draw_index += static_cast<std::uint64_t>(at);
    own.streams = false;
    if (scatters && kernel_.draws) one_by_one(own, tile, p);
    else sweep_rows<Arch>({loose_, stage_}, own, tile, p, span_.target_stride, tuning_);
    if (scatters)
      tiles<Arch>::with_size(static_cast<std::size_t>(loose_.sink_bits / 8), [&]<class T>(T) {
        tiles<Arch>::scatter(reinterpret_cast<const T*>(made_), width_, rows, n,
                             reinterpret_cast<T*>(to), span_.target_stride, span_.target_step);
      });
    else if (moves_)
      for (std::size_t k = 0; k < rows; ++k)
        kernel_.pack(
            made_ + k * width_, n,
            to + bytes_to(static_cast<std::ptrdiff_t>(k) * span_.target_stride, kernel_.sink_bits));
  }

  // The length of as many groups as begin and end on bytes of the target.
  [[nodiscard]] std::size_t whole_groups(std::size_t group) const noexcept {
    const std::size_t unit = until_whole_bytes(kernel_.sink_bits);
    return group % unit == 0 ? group : group * unit;
  }

  // Where the places of neighbours are none.
  void one_by_one(const Operands& tile, const Span& span, const Parameters& p) noexcept {
    for (std::size_t r = 0; r < span.count; ++r)
      for (std::size_t i = 0; i < span.length; ++i) {
        const auto row = static_cast<std::ptrdiff_t>(r), column = static_cast<std::ptrdiff_t>(i);
        const std::ptrdiff_t at = row * span.source_stride + column;
        Operands one = tile;
        one.first += at;
        one.target = made_ + at * (loose_.sink_bits / 8);
        one.draw_index +=
            static_cast<std::uint64_t>(row * span_.target_stride + column * span_.target_step);
        const Moved its(p, r, i);
        sweep_rows<Arch>({loose_, stage_}, one, {.length = 1}, its.params, 0, tuning_);
      }
  }

  // The tile whose first element is `at` elements from the source.
  void read(std::ptrdiff_t at, std::size_t rows, std::size_t columns) noexcept {
    const std::ptrdiff_t row = span_.source_stride, column = span_.source_step;
    const std::size_t bytes = static_cast<std::size_t>(loose_.source_bits / 8);
    const auto gather = [&](const unsigned char* from, std::ptrdiff_t row_step,
                            std::ptrdiff_t column_step) {
      tiles<Arch>::with_size(bytes, [&]<class T>(T) {
        tiles<Arch>::gather(reinterpret_cast<const T*>(from), row_step, column_step, rows, columns,
                            reinterpret_cast<T*>(tile_), width_);
      });
    };
    const auto* in = static_cast<const unsigned char*>(operands_.source);
    const std::ptrdiff_t first = operands_.first + at;
    if (kernel_.unpack == nullptr)
      return gather(in + first * static_cast<std::ptrdiff_t>(bytes), row, column);
    const auto unpack = [&](std::size_t r, std::size_t i, std::size_t n, unsigned char* to) {
      kernel_.unpack(in,
                     static_cast<std::size_t>(first + static_cast<std::ptrdiff_t>(r) * row +
                                              static_cast<std::ptrdiff_t>(i) * column),
                     n, to);
    };
    if (column == 1) {
      for (std::size_t r = 0; r < rows; ++r) unpack(r, 0, columns, tile_ + r * width_ * bytes);
    } else if (row == 1) {
      for (std::size_t i = 0; i < columns; ++i) unpack(0, i, rows, made_ + i * rows_ * bytes);
      gather(made_, 1, static_cast<std::ptrdiff_t>(rows_));
    } else {
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < columns; ++i) unpack(r, i, 1, tile_ + (r * width_ + i) * bytes);
    }
  }

  const RowLoops<Arch>&kernel_, &loose_;
  const void* stage_;
  const Operands& operands_;
  const Span& span_;
  const Tuning& tuning_;
  bool gathers_, moves_;  // into a tile, and from what was made of it
  std::size_t rows_, width_;
  unsigned char* made_;
  alignas(64) unsigned char tile_[room + 64];
};

}  // namespace tq::driver::detail
