// SPDX-License-Identifier: MIT
#pragma once
// CrossHessian: mean products of what quantization changed in a layer's inputs with the inputs.

#include <tq/arch/isa.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/detail/expectations.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/readable.hpp>
#include <tq/error.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/token_rows.hpp>
#include <tq/ptq/detail/triangle.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace tq {

/// C[i][j] = the mean of (f[i] - x[i]) * x[j] over tokens: x are the inputs of a layer behind
/// quantized layers, f those of the same tokens in the float model. Sums are float64 and take
/// tokens in their order: batches in the same order give the same bits wherever they are cut and
/// whatever executor adds them. Tokens with NaN or infinities in either are counted and left out.
class CrossHessian {
 public:
  /// Throws: `errc::bad_argument` for no inputs, or more than 2^20.
  explicit CrossHessian(std::size_t inputs) : inputs_(inputs) {
    detail::require_inputs("tq::CrossHessian", inputs);
    const std::size_t padded = (inputs + size - 1) / size * size;
    sums_.resize(padded * inputs);
  }

  /// Adds the tokens of activations [..., inputs], which count as float32: `x` behind quantized
  /// layers, `x_float` in the float model. Throws: `errc::shape_mismatch` for other inputs, and for
  /// tensors of two shapes. Nothing is added then.
  template <class Arch = arch::native, Executor E = Serial, Readable X = ConstTensorView,
            Readable F = ConstTensorView>
  void add(const X& x, const F& x_float, const E& executor = serial) {
    constexpr const char* function = "tq::CrossHessian::add";
    const auto floats = detail::read_floats(function, x),
               others = detail::read_floats(function, x_float);
    detail::require_shape(function, "float inputs", floats.view().shape(), others.view().shape());
    const detail::TokenRows rows(function, floats.view(), inputs_),
        float_rows(function, others.view(), inputs_);
    std::vector<std::size_t> used;
    std::ranges::set_intersection(rows.used(), float_rows.used(), std::back_inserter(used));
    Buffer<double> inputs(std::min(used.size(), tokens_at_once) * inputs_), changes(inputs.size());
    std::vector<float> memory(inputs_), float_memory(inputs_);
    for (std::size_t t = 0; t < used.size(); t += tokens_at_once) {
      const std::size_t count = std::min(tokens_at_once, used.size() - t);
      for (std::size_t k = 0; k < count; ++k) {
        const float* row = rows.row(used[t + k], memory.data());
        const float* float_row = float_rows.row(used[t + k], float_memory.data());
        for (std::size_t i = 0; i < inputs_; ++i) {
          inputs.data()[k * inputs_ + i] = static_cast<double>(row[i]);
          changes.data()[k * inputs_ + i] =
              static_cast<double>(float_row[i]) - static_cast<double>(row[i]);
        }
      }
      executor((inputs_ + size - 1) / size, [&](std::size_t panel) {
        add_panel<Arch>(changes.data(), inputs.data(), count, panel * size);
      });
    }
    tokens_ += used.size();
    left_out_ += floats.view().size() / inputs_ - used.size();
  }

  /// Adds the sums of another. Throws: `errc::shape_mismatch` for other inputs.
  void merge(const CrossHessian& other) {
    detail::require_count("tq::CrossHessian::merge", "inputs", inputs_, other.inputs_);
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
    tokens_ += other.tokens_;
    left_out_ += other.left_out_;
  }

  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
  /// Tokens that were added.
  [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_; }
  /// Tokens that were left out, for NaN or infinities.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }
  /// C[i][j]; 0 without tokens. Precondition: i, j < inputs().
  [[nodiscard]] double operator()(std::size_t i, std::size_t j) const noexcept {
    return tokens_ == 0 ? 0.0 : sums_[i * inputs_ + j] / static_cast<double>(tokens_);
  }

 private:
  static constexpr std::size_t tokens_at_once = 256, size = kernels::product_rows;

  // Adds the products of the changes of `size` inputs from `first` on with all inputs.
  template <class Arch>
  void add_panel(const double* changes, const double* x, std::size_t count, std::size_t first) {
    const std::size_t rows = std::min(size, inputs_ - first);
    std::array<double, tokens_at_once * size> factors{};
    for (std::size_t k = 0; k < count; ++k)
      std::copy_n(changes + k * inputs_ + first, rows, factors.data() + k * size);
    kernels::SumRows sums;
    for (std::size_t r = 0; r < size; ++r) sums[r] = sums_.data() + (first + r) * inputs_;
    kernels::add_products<Arch, kernels::Product::rounded>(factors.data(), x, inputs_, count, sums,
                                                           inputs_);
  }

  std::size_t inputs_;
  std::vector<double> sums_;  // whole panels of rows
  std::uint64_t tokens_ = 0, left_out_ = 0;
};

}  // namespace tq
