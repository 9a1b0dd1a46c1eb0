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
    if (pending_ != 0 && !is_next(r)) flush();
    if (pending_ == 0) first_ = r;
    sources_[pending_] = r.source;
    params_[pending_++] = r.param;
    if (pending_ == columns_together) flush();
  }

 private:
  // Other roundings may ask for the place of an element in the target.
  static bool is_column(const Run& r) noexcept {
    return std::same_as<typename N::rounding_type, NearestEven> && r.length == 1 && r.count >= columns_together &&
           r.source_stride == 1 && r.target_stride != 1;
  }
  [[nodiscard]] bool is_next(const Run& r) const noexcept {
    return r.target == first_.target + static_cast<std::ptrdiff_t>(pending_) && r.count == first_.count &&
           r.target_stride == first_.target_stride && r.param_stride == first_.param_stride;
  }

  void flush() noexcept {
    for (std::size_t begin = 0; pending_ != 0 && begin < first_.count; begin += column_piece) {
      const std::size_t n = std::min(column_piece, first_.count - begin);
      for (std::size_t k = 0; k < pending_; ++k) make_codes(k, begin, n);
      for (std::size_t i = 0; i < n; ++i) {
        code_type* row = out_ + first_.target + static_cast<std::ptrdiff_t>(begin + i) * first_.target_stride;
        for (std::size_t k = 0; k < pending_; ++k) row[k] = codes_[k * column_piece + i];
      }
    }
    pending_ = 0;
  }

  // Of elements [begin, begin + n) of column k.
  void make_codes(std::size_t k, std::size_t begin, std::size_t n) noexcept {
    const std::size_t stride = first_.param_stride;
    code_kernels<B, Params>::quantize(x_ + sources_[k] + static_cast<std::ptrdiff_t>(begin), codes_ + k * column_piece,
                                      span_(scales_, zero_points_, params_[k] + begin * stride, stride, n), numerics_, 0, false);
  }

  const float* x_;
  code_type* out_;
  const float* scales_;
  const std::int32_t* zero_points_;
  const N& numerics_;
  bool streaming_;
  std::size_t pending_ = 0;
  Run first_;  // of the pending ones
  std::ptrdiff_t sources_[columns_together];
  std::size_t params_[columns_together];
  ColumnSpan span_;
  alignas(64) code_type codes_[columns_together * column_piece];
};

}  // namespace tq::detail
