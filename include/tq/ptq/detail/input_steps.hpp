// SPDX-License-Identifier: MIT
#pragma once
// InputSteps: the power-of-two step of every input, which activations are rounded to.

#include <tq/error.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tq::detail {

/// Steps 2^e, one for each input, so that the largest magnitude is at most `limit()` steps.
class InputSteps {
 public:
  /// The exponent of an input that is always 0.
  static constexpr int no_range = -1024;
  static constexpr int least = -200, most = 200;

  InputSteps(int bits, std::vector<int> exponents) : bits_(bits), exponents_(std::move(exponents)) {
    for (const int e : exponents_) steps_.push_back(e == no_range ? 0.0 : std::ldexp(1.0, e));
  }

  [[nodiscard]] int bits() const noexcept { return bits_; }
  [[nodiscard]] std::size_t size() const noexcept { return exponents_.size(); }
  [[nodiscard]] const std::vector<int>& exponents() const noexcept { return exponents_; }
  [[nodiscard]] std::int32_t limit() const noexcept { return (1 << (bits_ - 1)) - 1; }
  /// The step of input `i`; 0 of an input that is always 0.
  [[nodiscard]] double step(std::size_t i) const noexcept { return steps_[i]; }
  /// Steps in 1; 0 of an input that is always 0.
  [[nodiscard]] double per_one(std::size_t i) const noexcept {
    return steps_[i] == 0.0 ? 0.0 : 1.0 / steps_[i];
  }
  /// The largest magnitude of input `i` that fits.
  [[nodiscard]] double reach(std::size_t i) const noexcept { return step(i) * limit(); }

  /// The exponent for magnitudes up to `top`, which is finite.
  [[nodiscard]] static int exponent_for(float top, int bits) noexcept {
    if (top == 0.0f) return no_range;
    int exponent = 0;
    std::frexp(static_cast<double>(top), &exponent);  // top < 2^exponent
    exponent -= bits - 1;
    const double limit = (1 << (bits - 1)) - 1;
    return std::ldexp(limit, exponent) < static_cast<double>(top) ? exponent + 1 : exponent;
  }

  friend bool operator==(const InputSteps&, const InputSteps&) = default;

 private:
  int bits_;
  std::vector<int> exponents_;
  std::vector<double> steps_;
};

inline void require_bits(const char* function, int bits) {
  if (bits != 14 && bits != 16)
    raise_expected(errc::bad_argument, function, {"14 or 16 bits"}, {bits});
}

}  // namespace tq::detail
