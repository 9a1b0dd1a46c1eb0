// SPDX-License-Identifier: MIT
#pragma once
// TileSweep: elements whose neighbours lie apart, or are packed, by way of tiles.

#include <tq/arch/batch.hpp>
#include <tq/arch/cpu.hpp>
#include <tq/driver/bits.hpp>
#include <tq/driver/columns.hpp>
#include <tq/driver/plan.hpp>
#include <tq/driver/row_sweep.hpp>
#include <tq/driver/rows.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/stores.hpp>
#include <tq/driver/streaming_plan.hpp>
#include <tq/driver/table.hpp>
#include <tq/driver/tiles.hpp>
#include <tq/driver/tuning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::driver::detail {

/// A sweep by tiles: square ones where the source is turned, else as wide as they can be. Groups
/// are not cut, but those longer than a tile at its end. Precondition: where the target is packed,
/// its rows have neighbours and begin on bytes, and so do groups in them.
template <class Arch>
class TileSweep {
  // Bytes of stack for a tile and its results together: wide elements have smaller tiles.
  static constexpr std::size_t room = 5 * tiles<Arch>::capacity;
  static std::size_t bytes_of(int bits) noexcept {
    return static_cast<std::size_t>(std::max(bits, 8) / 8);
  }

 public:
  TileSweep(BoundLoops<Arch> loops, const Operands& operands, const Span& span,
            const Parameters& params, const Tuning& tuning) noexcept
      : kernel_(loops.kernel),
        loose_(kernel_.loose != nullptr ? *kernel_.loose : kernel_),
        stage_(loops.stage),
        operands_(operands),
        span_(span),
        tuning_(tuning),
        gathers_(!span.has_neighbours() || kernel_.unpack != nullptr),
        turns_(span.source_stride == 1 && span.source_step != 1),
        ahead_(turns_ && operands.streams),
        joins_(turns_ && is_one(params)),
        streams_(ahead_ && has_whole_lines()),
        moves_(span.target_step != 1 || kernel_.pack != nullptr || joins_ || streams_) {
    const std::size_t read = gathers_ ? bytes_of(loose_.source_bits) : 0,
                      turned = kernel_.unpack != nullptr ? read : 0,  // it is unpacked as it lies
        made = moves_ ? std::max(bytes_of(loose_.sink_bits), turned) : turned;
    const bool in_place = (joins_ || streams_) && turned == 0 && made == read;
    const std::size_t bytes = in_place ? read : read + made;
    if (ahead_) size_ahead(room / bytes);
    else size_usual(std::min(tiles<Arch>::capacity, room / bytes));
    made_ = in_place ? tile_ : tile_ + (rows_ * width_ * read + 63) / 64 * 64;
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
    if (joins_) {
      static constexpr How stored{};
      const OneParameter<Arch> only({{loose_, stage_}, operands_, span_, 0, stored}, p);
      sweep(p, [&](const Operands& operands, const Span& tile, const Parameters&) {
        only.sweep({{loose_, stage_}, operands, tile, 0, stored});
      });
    } else {
      sweep(p, [&](const Operands& operands, const Span& tile, const Parameters& its) {
        if (span_.target_step != 1 && kernel_.draws) one_by_one(operands, tile, its);
        else sweep_rows<Arch>({loose_, stage_}, operands, tile, its, span_.target_stride, tuning_);
      });
    }
    fence<Arch>({.streams = streams_});
  }

 private:
  // Calls convert(operands, span, parameters) for each tile.
  template <class Convert>
  TQ_FORCE_INLINE void sweep(const Parameters& p, const Convert& convert) noexcept {
    for (std::size_t r = 0, rows = rows_ - rows_past_line(); r < span_.count;
         r += rows, rows = rows_)
      for (std::size_t i = 0; i < span_.length;) {
        std::size_t n = std::min(width_, span_.length - i);
        if (p.group > width_) n = p.group == whole_row ? n : std::min(n, p.group - i % p.group);
        else if (n < span_.length - i) n = n / whole_groups(p.group) * whole_groups(p.group);
        const Moved part(p, r, i);
        tile(r, i, std::min(rows, span_.count - r), n, part.params, convert);
        i += n;
      }
  }

  // Tiles of at most `capacity` elements: rows of whole lines, and as many as are whole lines of
  // the source.
  void size_ahead(std::size_t capacity) noexcept {
    constexpr std::size_t least = arch::line_bytes, lines = 16;
    rows_ = std::min({span_.count, 2 * tiles<Arch>::side, capacity / least / lines * lines});
    width_ = std::min(span_.length, capacity / rows_ / least * least);
  }
  void size_usual(std::size_t capacity) noexcept {
    const std::size_t unit = kernel_.pack != nullptr ? 8 : 1;
    if (span_.source_step == 1) {
      width_ = std::min(span_.length, capacity);
      rows_ = std::min(span_.count, capacity / width_);
    } else if (joins_) {
      rows_ = std::min({span_.count, tiles<Arch>::side, capacity});
      width_ = std::min(span_.length, capacity / rows_ / unit * unit);
    } else {
      // Rows of a tile are long enough for two blocks.
      rows_ = std::min({span_.count, tiles<Arch>::side, capacity / (2 * block<Arch>)});
      width_ = std::min(span_.length, capacity / rows_ / unit * unit);
    }
  }

  // Whether a parameter is that of all elements, so that tiles are converted as one row.
  [[nodiscard]] bool is_one(const Parameters& p) const noexcept {
    return loose_.sink_bits <= loose_.source_bits && p.group >= span_.length && p.row_step == 0 &&
           kernel_.columns == 0 && !kernel_.draws && loose_.has(Form::constant, 0);
  }
  // Whether results are written as whole lines past the cache.
  [[nodiscard]] bool has_whole_lines() const noexcept {
    const std::ptrdiff_t row = bytes_to(span_.target_stride, kernel_.sink_bits);
    return !std::is_same_v<Arch, arch::scalar> && kernel_.pack == nullptr &&
           span_.target_step == 1 && row % std::ptrdiff_t{arch::line_bytes} == 0;
  }
  // The rows that lie between the begin of a line of the source and the first row, if tiles of the
  // others shall begin on lines.
  [[nodiscard]] std::size_t rows_past_line() const noexcept {
    if (!ahead_ || kernel_.unpack != nullptr) return 0;
    const auto bytes = static_cast<std::size_t>(kernel_.source_bits / 8);
    const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(operands_.source) +
                                 static_cast<std::uintptr_t>(operands_.first) * bytes;
    return std::min(place % arch::line_bytes / bytes, rows_ - 1);
  }

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

  template <class Convert>
  TQ_FORCE_INLINE void tile(std::size_t r, std::size_t i, std::size_t rows, std::size_t n,
                            const Parameters& p, const Convert& convert) noexcept {
    const auto row = static_cast<std::ptrdiff_t>(r), column = static_cast<std::ptrdiff_t>(i);
    const std::ptrdiff_t from = row * span_.source_stride + column * span_.source_step,
                         at = row * span_.target_stride + column * span_.target_step;
    const std::size_t pitch = joins_ ? n : width_;
    if (gathers_) read(from, rows, n, pitch);
    unsigned char* to =
        static_cast<unsigned char*>(operands_.target) + bytes_to(at, kernel_.sink_bits);
    const auto apart = static_cast<std::ptrdiff_t>(pitch);
    Span tile{n, rows, gathers_ ? apart : span_.source_stride,
              moves_ ? apart : span_.target_stride};
    if (joins_) tile = {.length = n * rows};
    Operands own = operands_;
    own.source = gathers_ ? tile_ : operands_.source;
    own.first = gathers_ ? 0 : operands_.first + from;
    own.target = moves_ ? made_ : to;
    own.draw_index += static_cast<std::uint64_t>(at);
    own.streams = false;
    convert(own, tile, p);
    if (moves_) write(to, rows, n, pitch);
  }

  // Results of a tile to where they belong.
  TQ_NO_INLINE void write(unsigned char* to, std::size_t rows, std::size_t n,
                          std::size_t pitch) noexcept {
    const auto bytes = static_cast<std::size_t>(loose_.sink_bits / 8);
    const std::ptrdiff_t stride = bytes_to(span_.target_stride, kernel_.sink_bits);
    if (span_.target_step != 1) {
      tiles<Arch>::with_size(bytes, [&]<class T>(T) {
        tiles<Arch>::scatter(reinterpret_cast<const T*>(made_), pitch, rows, n,
                             reinterpret_cast<T*>(to), span_.target_stride, span_.target_step);
      });
    } else if (kernel_.pack != nullptr) {
      for (std::size_t k = 0; k < rows; ++k, to += stride) kernel_.pack(made_ + k * pitch, n, to);
    } else {
      for (std::size_t k = 0; k < rows; ++k, to += stride)
        write_part(to, made_ + k * pitch * bytes, n * bytes, streams_);
    }
  }

  // A part of a row: past the cache are its whole lines if it begins on one.
  static TQ_FORCE_INLINE void write_part(unsigned char* to, const unsigned char* from,
                                         std::size_t bytes,
                                         [[maybe_unused]] bool past_cache) noexcept {
#if TQ_HAS_SIMD
    if constexpr (!std::is_same_v<Arch, arch::scalar>) {
      std::size_t whole = 0;
      if (past_cache && arch::is_aligned(to, arch::line_bytes)) {
        whole = bytes / arch::line_bytes * arch::line_bytes;
        stream_lines<Arch>(to, from, whole);
      }
      if (whole < bytes) copy_some<Arch, false>(to + whole, from + whole, bytes - whole);
      return;
    }
#endif
    std::memcpy(to, from, bytes);
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
  void read(std::ptrdiff_t at, std::size_t rows, std::size_t columns, std::size_t pitch) noexcept {
    const std::ptrdiff_t row = span_.source_stride, column = span_.source_step;
    const std::size_t bytes = static_cast<std::size_t>(loose_.source_bits / 8);
    const auto gather = [&](const unsigned char* from, std::ptrdiff_t row_step,
                            std::ptrdiff_t column_step) {
      tiles<Arch>::with_size(bytes, [&]<class T>(T) {
        const auto* first = reinterpret_cast<const T*>(from);
        auto* to = reinterpret_cast<T*>(tile_);
        if (ahead_ && kernel_.unpack == nullptr)
          tiles<Arch>::gather_ahead(first, column_step, rows, columns, to, pitch);
        else tiles<Arch>::copy(first, row_step, column_step, rows, columns, to, pitch);
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
      for (std::size_t r = 0; r < rows; ++r) unpack(r, 0, columns, tile_ + r * pitch * bytes);
    } else if (row == 1) {
      for (std::size_t i = 0; i < columns; ++i) {
        if (ahead_) ask(first + static_cast<std::ptrdiff_t>(i + tiles<Arch>::strip) * column, rows);
        unpack(0, i, rows, made_ + i * rows_ * bytes);
      }
      gather(made_, 1, static_cast<std::ptrdiff_t>(rows_));
    } else {
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < columns; ++i) unpack(r, i, 1, tile_ + (r * pitch + i) * bytes);
    }
  }

  // Asks for n packed elements of the source from element `at` on.
  void ask(std::ptrdiff_t at, std::size_t n) noexcept {
    const int bits = kernel_.source_bits;
    tiles<Arch>::ask(operands_.source, bytes_to(at, bits),
                     static_cast<std::size_t>(bytes_to(static_cast<std::ptrdiff_t>(n), bits)));
  }

  const RowLoops<Arch>&kernel_, &loose_;
  const void* stage_;
  const Operands& operands_;
  const Span& span_;
  const Tuning& tuning_;
  bool gathers_;  // into a tile
  bool turns_;    // columns of the source are neighbours
  bool ahead_;    // of columns in memory, which are asked for
  bool joins_;    // a parameter is that of all
  bool streams_;  // whole lines of results
  bool moves_;    // what was made of a tile
  std::size_t rows_, width_;
  unsigned char* made_;
  alignas(64) unsigned char tile_[room + 64];
};

}  // namespace tq::driver::detail
