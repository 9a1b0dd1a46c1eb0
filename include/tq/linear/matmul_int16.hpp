// SPDX-License-Identifier: MIT
#pragma once
// matmul_integer of int16: products of matrices with sums of 64 bits, exact.

#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/gemm_rows.hpp>
#include <tq/linear/detail/multiply.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/packed_int16_weights.hpp>
#include <tq/ops/detail/checks.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tq {

/// out[m, n] = sum over k of (x[m, k] - x_zero_points[m]) * (weights[n, k] - its zero point),
/// exact. `x`: [rows, inputs], of any strides; `x_zero_points`: none, one, or one a row; `out`:
/// [rows, outputs]. No inputs give zeros. The sums are those of the weights' high bytes, then of
/// their low bytes, and so take more than twice the time of bytes in pairs. Throws:
/// `errc::shape_mismatch`, `errc::bad_zero_point`, before anything is written.
template <class Arch = default_arch, detail::InputOf<std::int16_t> X,
          detail::OutputOf<std::int64_t> Y, class... O>
void matmul_integer(const X& all_codes, std::span<const std::int32_t> x_zero_points,
                    const PackedInt16Weights& weights, Y&& sums_out, const O&... options) {
  static_assert(!detail::is_temporary_owner<Y>,
                "tq::matmul_integer: the output is a temporary: give it a name first");
  const auto in = detail::read_as<std::int16_t>(all_codes);
  const TensorView<const std::int16_t>& x = in.view();
  const TensorView<std::int64_t> out = detail::output<std::int64_t>(sums_out);
  const auto& executor = detail::executor_of(options...);
  using Rows = detail::GemmRows<std::int16_t>;
  const Rows rows{x, x_zero_points}, codes{x, {}};
  detail::require_product("tq::matmul_integer", rows, weights.high());
  detail::require_shape("tq::matmul_integer", "an output", Shape{x.shape()[0], weights.outputs()},
                        out.shape());
  const detail::StoreSums<std::int64_t> store{out};
  detail::multiply<Arch, std::int64_t>(codes, weights.high(), store, executor);
  const auto add_low = [&](std::size_t row, std::size_t column, std::size_t count,
                           const std::int64_t* sums) {
    std::int64_t* to = store.place(row, column).first;
    const std::int64_t zero = rows.zero_point(row);
    for (std::size_t c = 0; c < count; ++c, to += out.stride(1))
      *to = 256 * *to + sums[c] - zero * weights.sum(column + c);
  };
  detail::multiply<Arch, std::int64_t>(codes, weights.low(), add_low, executor);
}

}  // namespace tq
