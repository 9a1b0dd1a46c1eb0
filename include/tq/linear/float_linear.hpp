// SPDX-License-Identifier: MIT
#pragma once
// FloatLinear: a linear layer of float weights, which quantized ones are measured against.

#include <tq/arch/cpu.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/detail/emptied.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/detail/small_buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/driver/gemm_tuning.hpp>
#include <tq/driver/tuning.hpp>
#include <tq/error.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/float_rows.hpp>
#include <tq/linear/detail/group_kernels.hpp>
#include <tq/linear/detail/grouped_blocks.hpp>
#include <tq/linear/detail/require_weights.hpp>
#include <tq/linear/detail/weight_extents.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/read_floats.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <utility>

namespace tq {

/// y = x * transposed weights, of floats that are packed once, in panels of 32 outputs. It has the
/// tiles and the order of sums of `GroupedLinear<FloatActivations>`, so that times differ by what
/// weights are stored as: (sum of the products of even inputs) + (sum of those of odd ones). A
/// layer that was moved from has no weights, and its `forward` throws `errc::shape_mismatch`.
class FloatLinear {
 public:
  /// Weights of shape [outputs, inputs], of any strides. Throws: `errc::shape_mismatch` for another
  /// number of axes; `errc::bad_argument` for extents that memory cannot hold.
  explicit FloatLinear(const ConstTensorView& weights) {
    if (weights.shape().rank() != 2)
      detail::raise_expected(errc::shape_mismatch, "tq::FloatLinear",
                             {"weights of shape [outputs, inputs]"}, {weights.shape().extents()});
    detail::require_weight_extents("tq::FloatLinear", weights.shape());
    outputs_ = weights.shape()[0];
    inputs_ = weights.shape()[1];
    panels_ = Buffer<float>(panels() * panel_size());
    std::ranges::fill(panels_.span(), 0.0f);
    for (std::size_t n = 0; n < outputs_; ++n) {
      const float* row = weights.data() + static_cast<std::ptrdiff_t>(n) * weights.stride(0);
      float* to = panels_.data() + n / columns * panel_size() + n % columns;
      for (std::size_t k = 0; k < inputs_; ++k)
        to[k * columns] = row[static_cast<std::ptrdiff_t>(k) * weights.stride(1)];
    }
  }
  /// The same of tensors of any kind and real numbers, which count as float32.
  template <Readable X>
    requires(!std::convertible_to<const X&, ConstTensorView>)
  explicit FloatLinear(const X& weights)
      : FloatLinear(ConstTensorView(detail::read_floats("tq::FloatLinear", weights).view())) {}

  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }

  /// `x`: [rows, inputs], of real numbers of any type, which count as float32; `y`: [rows,
  /// outputs]; both of any strides. No inputs give zeros. Throws:
  /// `errc::shape_mismatch`, before anything is written.
  template <class Arch = default_arch, Readable X = ConstTensorView,
            detail::OutputOf<float> Y = TensorView<float>, class... O>
  void forward(const X& x, Y&& y, const O&... options) const {
    const auto& executor = detail::executor_of(options...);
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::FloatLinear::forward: the output is a temporary: give it a name first");
    forward_floats<Arch>(detail::read_floats("tq::FloatLinear", x, executor).view(),
                         detail::output<float>(std::forward<Y>(y)), executor);
  }

 private:
  template <class Arch, Executor E>
  void forward_floats(const ConstTensorView& x, const TensorView<float>& y,
                      const E& executor) const {
    detail::require_weights("tq::FloatLinear", has_weights_);
    if (x.shape().rank() != 2 || x.shape()[1] != inputs_)
      detail::raise_expected(errc::shape_mismatch, "tq::FloatLinear",
                             {"rows of ", inputs(), " values"}, {"shape ", x.shape().extents()});
    detail::require_shape("tq::FloatLinear", "an output", Shape{x.shape()[0], outputs_}, y.shape());
    static_cast<void>(detail::require_extents("tq::FloatLinear", y.shape()));
    detail::for_each_part(
        x.shape()[0], detail::FloatRows::most<Arch>(), panels(),
        [&](std::size_t first, std::size_t rows, std::size_t begin, std::size_t end) {
          const detail::FloatRows some(rows, padded_inputs(),
                                       [&](std::size_t r, float* row) { pad(x, first + r, row); });
          multiply<Arch>(some, {begin, end}, first, {y});
        },
        executor);
  }

  static constexpr std::size_t columns = kernels::group_columns;
  static constexpr std::size_t line = 64 / sizeof(float);  // of a cache

  struct Panels {
    std::size_t begin, end;
  };

  [[nodiscard]] std::size_t panels() const noexcept { return (outputs_ + columns - 1) / columns; }
  [[nodiscard]] std::size_t padded_inputs() const noexcept { return (inputs_ + 1) / 2 * 2; }
  [[nodiscard]] std::size_t panel_size() const noexcept { return padded_inputs() * columns; }

  // Row r, with a zero behind an odd number of inputs.
  void pad(const ConstTensorView& x, std::size_t r, float* out) const {
    const float* row = x.data() + static_cast<std::ptrdiff_t>(r) * x.stride(0);
    if (x.stride(1) == 1) std::copy_n(row, inputs_, out);
    else
      for (std::size_t k = 0; k < inputs_; ++k)
        out[k] = row[static_cast<std::ptrdiff_t>(k) * x.stride(1)];
    std::fill(out + inputs_, out + padded_inputs(), 0.0f);
  }

  // Rows, which are written from row `first` on, times some panels.
  template <class Arch>
  void multiply(const detail::FloatRows& x, Panels some, std::size_t first,
                const detail::LinearTarget& to) const {
    SmallBuffer<float, 4 * 2 * columns> sums(x.rows() * 2 * columns);
    for (std::size_t p = some.begin; p < some.end; ++p) {
      std::ranges::fill(sums.span(), 0.0f);
      for (std::size_t k = 0; k < x.inputs(); k += x.step)
        add_step<Arch>(x, k, panels_.data() + p * panel_size() + k * columns, sums.data());
      const std::size_t count = std::min(columns, outputs_ - p * columns);
      to.store_sums(first, x.rows(), p * columns, count, sums.data());
    }
  }

  // A step of inputs from k on, times their weights. A few rows only read these, so their pages, or
  // their lines, are asked for before they are needed.
  template <class Arch>
  static void add_step(const detail::FloatRows& x, std::size_t k, const float* weights,
                       float* sums) noexcept {
    const bool only_reads = x.rows() <= detail::FloatKernels<Arch>::rows();
    const std::ptrdiff_t pages = driver::this_machine().weight_pages_ahead;
    const std::size_t n = x.length(k), some = only_reads && pages == 0 ? 16 : n;
    if (only_reads && pages != 0)
      for (std::size_t j = 0; j < n * columns; j += arch::page_bytes / sizeof(float))
        arch::prefetch(weights + j, pages * arch::page_bytes);
    for (std::size_t i = 0; i < n; i += some, weights += some * columns) {
      for (std::size_t j = 0; only_reads && pages == 0 && j < some * columns; j += line)
        arch::prefetch(weights + j, driver::gemv_bytes_ahead);
      x.add_products<Arch>(k, i, std::min(some, n - i), weights, sums);
    }
  }

  detail::Emptied<std::size_t> outputs_, inputs_;
  detail::Emptied<bool> has_weights_ = true;
  Buffer<float> panels_;
};

}  // namespace tq
