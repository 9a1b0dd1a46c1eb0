// SPDX-License-Identifier: MIT
#pragma once
// matmul_requantized: a product of integers whose sums become codes.

#include <tq/core/detail/read.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/gemm_rows.hpp>
#include <tq/linear/detail/multiply.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/output/detail/store_row.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/linear/packed_weights.hpp>
#include <tq/ops/detail/checks.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tq {

/// The codes that `stage` makes of the sums of `matmul_integer`. Throws: as that, and as
/// `stage.require_fit`, before anything is written.
template <class Arch = default_arch, detail::ByteTensor X, Requantizer R, class Y, class... O>
  requires ByteCode<element_of<Y>>
void matmul_requantized(const X& x_codes, std::span<const std::int32_t> x_zero_points,
                        const PackedWeights& weights, const OutputStage<R>& stage, Y&& y,
                        const O&... options) {
  static_assert(!detail::is_temporary_owner<Y>,
                "tq::matmul_requantized: the output is a temporary: give it a name first");
  using Code = detail::code_of<X>;
  using Out = element_of<Y>;
  const auto in = detail::read_as<Code>(x_codes);
  const TensorView<const Code>& x = in.view();
  const TensorView<Out> out = detail::output<Out>(y);
  const auto& executor = detail::executor_of(options...);
  const detail::GemmRows<Code> rows{x, x_zero_points};
  detail::require_product("tq::matmul_requantized", rows, weights);
  detail::require_shape("tq::matmul_requantized", "an output",
                        Shape{x.shape()[0], weights.outputs()}, out.shape());
  stage.template require_fit<Out>("tq::matmul_requantized", weights);
  const auto store = [&](std::size_t row, std::size_t column, std::size_t count,
                         const std::int32_t* sums) {
    detail::store_row(out, row, column, count, [&](std::size_t first, std::size_t n, Out* codes) {
      stage.template row<Arch>(sums + first, column + first, n, codes);
    });
  };
  detail::multiply<Arch, std::int32_t>(rows, weights, store, executor);
}

}  // namespace tq
