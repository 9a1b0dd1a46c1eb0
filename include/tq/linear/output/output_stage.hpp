// SPDX-License-Identifier: MIT
#pragma once
// OutputStage: what makes codes of the sums of a product: bias, factor, zero point, and an
// activation that clamps.

#include <tq/core/detail/emptied.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/driver/columns.hpp>
#include <tq/error.hpp>
#include <tq/linear/byte_weights.hpp>
#include <tq/linear/output/detail/code_limits.hpp>
#include <tq/linear/output/detail/require_32_bits.hpp>
#include <tq/linear/output/detail/rule_row.hpp>
#include <tq/linear/output/requantize_float.hpp>
#include <tq/linear/output/requantizer.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tq {

/// code = clamp(R(sum + bias[n], factor[n]) + zero_point, low, high). Factors are scale of x *
/// scale of weights / scale of the output; biases have the scale of x * scale of weights, and are
/// int32, or float32 where R adds such.
template <Requantizer R = RequantizeFloat>
class OutputStage {
 public:
  using bias_type = detail::bias_of<R>;

  /// `factors`: one, or one for each output. `low` and `high` are those of the code type, or of a
  /// ReLU: `low` is the zero point then. Throws: as R::make; `errc::bad_argument` unless low <=
  /// high, or for no factors; `errc::not_finite` for a bias of float32 that is not.
  explicit OutputStage(std::span<const double> factors, std::int32_t zero_point, std::int32_t low,
                       std::int32_t high, std::span<const bias_type> bias = {})
      : count_(factors.size()),
        biases_(bias.size()),
        bias_(biases_ + driver::Column::padding),
        zero_point_(zero_point),
        low_(low),
        high_(high) {
    if (low > high)
      detail::raise_expected(errc::bad_argument, "tq::OutputStage", {"a range of codes"},
                             {low, " to ", high});
    if (factors.empty())
      detail::raise_expected(errc::bad_argument, "tq::OutputStage", {"a factor"}, {"none"});
    for (const double f : factors) factors_.push_back(R::make(f));
    factors_.resize(count_ + driver::Column::padding, factors_.back());
    if constexpr (std::same_as<bias_type, float>)
      for (std::size_t n = 0; n < bias.size(); ++n)
        if (!std::isfinite(bias[n]))
          detail::raise_expected(errc::not_finite, "tq::OutputStage", {"finite biases"},
                                 {bias[n], " for output ", n});
    std::ranges::copy(bias, bias_.begin());
  }

  /// The code of a sum of output `n`. Precondition: `fits` the weights.
  [[nodiscard]] std::int32_t operator()(std::int32_t sum, std::size_t n) const noexcept {
    const std::int64_t code = std::int64_t{rounded(sum, n)} + zero_point_;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, low_, high_));
  }

  /// The codes of the sums of outputs `first` to `first + count`.
  template <class Arch, ByteCode Code>
  void row(const std::int32_t* sums, std::size_t first, std::size_t count,
           Code* out) const noexcept {
    const detail::CodeLimits limits(zero_point_, low_, high_);
    if (detail::rule_row<Arch, R>(limits, numbers(first), sums, out, count)) return;
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Code>((*this)(sums[i], first + i));
  }

  /// For PackedWeights or PackedFilters. Throws: `errc::shape_mismatch` unless there are as many
  /// factors and biases as outputs, or one factor, or no biases; `errc::bad_argument` where a sum
  /// and its bias might leave 32 bits, or codes are none of Code.
  template <ByteCode Code, class Weights>
  void require_fit(const char* function, const Weights& w) const {
    const auto named = [&](const char* expected, std::size_t n, const char* what) {
      return std::string(function) + ": expected " + expected + std::to_string(w.outputs()) + " " +
             what + ", as the weights have outputs, got " + std::to_string(n);
    };
    if (count_ != 1 && count_ != w.outputs())
      raise(errc::shape_mismatch, named("1 or ", count_, "factors"));
    if (biases_ != 0 && biases_ != w.outputs())
      raise(errc::shape_mismatch, named("0 or ", biases_, "biases"));
    using limits = std::numeric_limits<Code>;
    if (low_ < limits::min() || high_ > limits::max())
      detail::raise_expected(errc::bad_argument, function,
                             {"codes from ", int{limits::min()}, " to ", int{limits::max()}},
                             {low_, " to ", high_});
    if constexpr (std::same_as<bias_type, float>) detail::require_32_bits(function, w, {});
    else detail::require_32_bits(function, w, std::span(bias_).first(biases_));
  }

 private:
  // The factors and biases of outputs from `first` on.
  [[nodiscard]] detail::RuleNumbers<R> numbers(std::size_t first) const noexcept {
    return {factors_.data() + (count_ == 1 ? 0 : first), bias_.data() + (biases_ == 0 ? 0 : first),
            count_ == 1, biases_ == 0};
  }

  [[nodiscard]] std::int32_t rounded(std::int32_t sum, std::size_t n) const noexcept {
    const auto& m = factors_[count_ == 1 ? 0 : n];
    if constexpr (std::same_as<bias_type, float>)
      return R::apply(sum, m, biases_ == 0 ? 0.0f : bias_[n]);
    else return R::apply(biases_ == 0 ? sum : sum + bias_[n], m);
  }

  detail::Emptied<std::size_t> count_, biases_;  // of factors and of biases
  // With what may be read behind them: the last factor again, and biases of 0.
  std::vector<typename R::multiplier> factors_;
  std::vector<bias_type> bias_;
  std::int32_t zero_point_, low_, high_;
};

}  // namespace tq
