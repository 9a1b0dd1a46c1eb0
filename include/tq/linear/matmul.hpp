// SPDX-License-Identifier: MIT
#pragma once
// matmul_integer: products of matrices of integers, exact.

#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/gemm_rows.hpp>
#include <tq/linear/detail/multiply.hpp>
#include <tq/linear/packed_weights.hpp>
#include <tq/ops/detail/checks.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq {

namespace detail {

// Where the sums of a product are stored.
template <SumType Out>
struct StoreSums {
  const TensorView<Out>& out;

  template <SumType Sum>
  void operator()(std::size_t row, std::size_t column, std::size_t count,
                  const Sum* sums) const noexcept {
    Out* to = place(row, column).first;
    const std::ptrdiff_t step = out.stride(1);
    for (std::size_t c = 0; c < count; ++c)
      to[static_cast<std::ptrdiff_t>(c) * step] = static_cast<Out>(sums[c]);
  }
  [[nodiscard]] bool in_place() const noexcept { return out.stride(1) == 1; }
  [[nodiscard]] kernels::TileRows<Out> place(std::size_t row, std::size_t column) const noexcept {
    return {out.data() + static_cast<std::ptrdiff_t>(row) * out.stride(0) +
                static_cast<std::ptrdiff_t>(column) * out.stride(1),
            out.stride(0)};
  }
};

}  // namespace detail

/// out[m, n] = sum over k of (x[m, k] - x_zero_points[m]) * (weights[n, k] - its zero point),
/// exact. `x`: [rows, inputs], of any strides; `x_zero_points`: none, one, or one a row; `out`:
/// [rows, outputs] of 32 or 64 bits. No inputs give zeros. Throws: `errc::shape_mismatch`,
/// `errc::bad_zero_point`; `errc::bad_argument` where `out` is of 32 bits and the weights are so
/// many, and so large, that a sum might not fit, before anything is written.
template <class Arch = default_arch, detail::ByteTensor X, class Y, class... O>
  requires SumType<element_of<Y>>
void matmul_integer(const X& codes, std::span<const std::int32_t> x_zero_points,
                    const PackedWeights& weights, Y&& sums, const O&... options) {
  static_assert(!detail::is_temporary_owner<Y>,
                "tq::matmul_integer: the output is a temporary: give it a name first");
  using Code = detail::code_of<X>;
  using Out = element_of<Y>;
  const auto in = detail::read_as<Code>(codes);
  const TensorView<const Code>& x = in.view();
  const TensorView<Out> out = detail::output<Out>(sums);
  const auto& executor = detail::executor_of(options...);
  const detail::GemmRows<Code> rows{x, x_zero_points};
  detail::require_product("tq::matmul_integer", rows, weights);
  detail::require_shape("tq::matmul_integer", "an output", Shape{x.shape()[0], weights.outputs()},
                        out.shape());
  const bool fits = detail::fits_32_bits(weights);
  if (std::same_as<Out, std::int32_t> && !fits)
    detail::raise_expected(errc::bad_argument, "tq::matmul_integer", {"sums of 32 bits"},
                           {weights.inputs(), " inputs with weights whose magnitudes sum to ",
                            weights.reach(), ": give an output of 64 bits"});
  const detail::StoreSums<Out> store{out};
  if (fits) return detail::multiply<Arch, std::int32_t>(rows, weights, store, executor);
  if constexpr (std::same_as<Out, std::int64_t>)
    detail::multiply<Arch, std::int64_t>(rows, weights, store, executor);
}

}  // namespace tq
