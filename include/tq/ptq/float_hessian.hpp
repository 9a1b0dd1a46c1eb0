// SPDX-License-Identifier: MIT
#pragma once
// FloatHessian: the mean products of a layer's inputs over tokens, in float64, in one pass.

#include <tq/arch/isa.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/detail/expectations.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/readable.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/token_rows.hpp>
#include <tq/ptq/detail/triangle.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// H[i][j] = the mean of x[i] * x[j] over tokens x. Products of float32 inputs are exact, and
/// float64 sums take them in the order of tokens: batches in the same order give the same bits
/// wherever they are cut and whatever executor adds them. Sums that are merged are rounded
/// otherwise; `Hessian` has the same bits then too, but needs the range of inputs first. Tokens
/// with NaN or infinities are counted and left out.
class FloatHessian {
 public:
  /// Throws: `errc::bad_argument` for no inputs, or more than 2^20.
  explicit FloatHessian(std::size_t inputs) : inputs_(inputs) {
    detail::require_inputs("tq::FloatHessian", inputs);
    sums_.resize(detail::Triangle(inputs).size());
  }

  /// Adds the tokens of activations [..., inputs], which count as float32. Throws:
  /// `errc::shape_mismatch` for other inputs. Nothing is added then.
  template <class Arch = arch::native, Executor E = Serial, Readable X = ConstTensorView>
  void add(const X& x, const E& executor = serial) {
    const auto floats = detail::read_floats("tq::FloatHessian::add", x);
    const auto& view = floats.view();
    const detail::TokenRows rows("tq::FloatHessian::add", view, inputs_);
    const std::span<const std::size_t> used = rows.used();
    Buffer<double> part(std::min(used.size(), tokens_at_once) * inputs_);
    std::vector<float> memory(inputs_);
    for (std::size_t t = 0; t < used.size(); t += tokens_at_once) {
      const std::size_t count = std::min(tokens_at_once, used.size() - t);
      for (std::size_t k = 0; k < count; ++k)
        std::copy_n(rows.row(used[t + k], memory.data()), inputs_, part.data() + k * inputs_);
      executor((inputs_ + size - 1) / size,
               [&](std::size_t panel) { add_panel<Arch>(part.data(), count, panel * size); });
    }
    tokens_ += used.size();
    left_out_ += rows.left_out();
  }

  /// Adds the sums of another Hessian. Throws: `errc::shape_mismatch` for other inputs.
  void merge(const FloatHessian& other) {
    detail::require_count("tq::FloatHessian::merge", "inputs", inputs_, other.inputs_);
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
    tokens_ += other.tokens_;
    left_out_ += other.left_out_;
  }

  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
  /// Tokens that were added.
  [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_; }
  /// Tokens that were left out, for NaN or infinities.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }
  /// The mean product of inputs i and j; 0 without tokens. Precondition: i, j < inputs().
  [[nodiscard]] double operator()(std::size_t i, std::size_t j) const noexcept {
    if (tokens_ == 0) return 0.0;
    return sums_[detail::Triangle(inputs_).either(i, j)] / static_cast<double>(tokens_);
  }

  /// Everything there is to know, to be stored. `sums` is the upper triangle, row by row.
  struct State {
    std::size_t inputs;
    std::uint64_t tokens, left_out;
    std::vector<double> sums;
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] State state() const { return {inputs_, tokens_, left_out_, sums_}; }
  /// Continues from a stored state. Throws: `errc::malformed` for a state that no tokens lead to;
  /// `errc::bad_argument` for no inputs, or more than 2^20.
  [[nodiscard]] static FloatHessian from_state(State s) {
    constexpr const char* function = "tq::FloatHessian::from_state";
    detail::require_inputs(function, s.inputs);
    const detail::Triangle at(s.inputs);
    if (s.sums.size() != at.size())
      detail::raise_expected(errc::malformed, function,
                             {at.size(), " sums of ", s.inputs, " inputs"}, {s.sums.size()});
    for (std::size_t i = 0; i < s.sums.size(); ++i)
      if (!std::isfinite(s.sums[i]))
        detail::raise_expected(errc::malformed, function, {"finite sums"},
                               {"another at number ", i});
    for (std::size_t i = 0; i < s.inputs; ++i)
      if (s.sums[at.at(i, i)] < 0)
        detail::raise_expected(errc::malformed, function, {"sums of squares"},
                               {"a negative number for input ", i});
    FloatHessian out(s.inputs, std::move(s.sums));
    out.tokens_ = s.tokens;
    out.left_out_ = s.left_out;
    return out;
  }
  friend bool operator==(const FloatHessian&, const FloatHessian&) = default;

 private:
  static constexpr std::size_t tokens_at_once = 256, size = kernels::product_rows;

  FloatHessian(std::size_t inputs, std::vector<double> sums)
      : inputs_(inputs), sums_(std::move(sums)) {}

  // Adds the products of `size` inputs from `first` on with those behind them.
  template <class Arch>
  void add_panel(const double* x, std::size_t count, std::size_t first) {
    constexpr auto product = kernels::Product::exact;
    const std::size_t rows = std::min(size, inputs_ - first);
    std::array<double, tokens_at_once * size> factors{};
    for (std::size_t k = 0; k < count; ++k)
      std::copy_n(x + k * inputs_ + first, rows, factors.data() + k * size);
    const detail::Triangle at(inputs_);
    // A square, of which the triangle has the upper half.
    std::array<double, size * size> square{};
    kernels::SumRows sums;
    for (std::size_t r = 0; r < size; ++r) sums[r] = square.data() + r * size;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = r; c < rows; ++c) sums[r][c] = sums_[at.at(first + r, first + c)];
    kernels::add_products<Arch, product>(factors.data(), x + first, inputs_, count, sums, rows);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = r; c < rows; ++c) sums_[at.at(first + r, first + c)] = sums[r][c];
    if (first + size >= inputs_) return;
    for (std::size_t r = 0; r < size; ++r) sums[r] = sums_.data() + at.at(first + r, first + size);
    kernels::add_products<Arch, product>(factors.data(), x + first + size, inputs_, count, sums,
                                         inputs_ - first - size);
  }

  std::size_t inputs_;
  std::vector<double> sums_;
  std::uint64_t tokens_ = 0, left_out_ = 0;
};

}  // namespace tq
