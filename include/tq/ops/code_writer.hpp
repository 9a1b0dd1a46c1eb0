// SPDX-License-Identifier: MIT
#pragma once
// Codes of the runs of a tensor, also where its axes lie in memory in another order than those of the codes.

#include <tq/ops/columns.hpp>
#include <tq/ops/parts.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tq::detail {

// Takes the runs of a tensor in order. Codes of columns, whose elements follow one another in the source, but not in the
// target, are made in vectors and written row by row.
template <Backend B, AnyParams Params, NumericsPolicy N>
class CodeWriter {
 public:
  using code_type = typename Params::code_type;

  CodeWriter(const float* x, code_type* out, const float* scales, const std::int32_t* zero_points, const N& numerics,
             bool streaming) noexcept
      : x_(x), out_(out), scales_(scales), zero_points_(zero_points), numerics_(numerics), streaming_(streaming) {}
  CodeWriter(const CodeWriter&) = delete;
  CodeWriter& operator=(const CodeWriter&) = delete;
  ~CodeWriter() { flush(); }

  void add(const Run& r) noexcept {
    if (!is_column(r)) {
      code_kernels<B, Params>::quantize(x_ + r.source, out_ + r.target, kernel_span(r, scales_, zero_points_), numerics_,
                                        static_cast<std::uint64_t>(r.target), streaming_);
      return;
    }
    if (!columns_.fits(r)) flush();
    columns_.add(r);
    if (columns_.size() == columns_together) flush();
  }

 private:
  // Other roundings may ask for the place of an element in the target.
  static bool is_column(const Run& r) noexcept {
    return std::same_as<typename N::rounding_type, NearestEven> && WaitingColumns::is_column(r);
  }

  void flush() noexcept {
    for (std::size_t begin = 0; begin < columns_.length(); begin += column_piece) {
      const std::size_t n = std::min(column_piece, columns_.length() - begin);
      for (std::size_t k = 0; k < columns_.size(); ++k)
        code_kernels<B, Params>::quantize(x_ + columns_.source(k) + static_cast<std::ptrdiff_t>(begin), codes_ + k * column_piece,
                                          columns_.span(scales_, zero_points_, k, begin, n), numerics_, 0, false);
      for (std::size_t i = 0; i < n; ++i) {
        code_type* row = out_ + columns_.target(begin + i);
        for (std::size_t k = 0; k < columns_.size(); ++k) row[k] = codes_[k * column_piece + i];
      }
    }
    columns_.clear();
  }

  const float* x_;
  code_type* out_;
  const float* scales_;
  const std::int32_t* zero_points_;
  const N& numerics_;
  bool streaming_;
  WaitingColumns columns_;
  alignas(64) code_type codes_[columns_together * column_piece];
};

}  // namespace tq::detail
