// SPDX-License-Identifier: MIT
#pragma once
// PairPanels: some tokens as integers, in panels of inputs as products of pairs read them.

#include <tq/core/buffer.hpp>
#include <tq/kernels/pair_products.hpp>
#include <tq/ptq/detail/input_steps.hpp>
#include <tq/ptq/detail/token_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::detail {

/// Up to `tokens` tokens in steps of their inputs. Numbers of 16 bits also lie there as high and
/// low bytes, whose products fit 32 bits many at a time.
class PairPanels {
 public:
  static constexpr std::size_t tokens = 1024, columns = kernels::pair_columns;

  explicit PairPanels(const InputSteps& steps)
      : steps_(steps),
        panels_((steps.size() + columns - 1) / columns),
        whole_(panels_ * panel_size),
        high_(is_split() ? panels_ * panel_size : 0),
        low_(is_split() ? panels_ * panel_size : 0),
        row_(steps.size()),
        per_one_(steps.size()) {
    for (std::size_t i = 0; i < steps.size(); ++i) per_one_[i] = steps.per_one(i);
  }

  [[nodiscard]] std::size_t panels() const noexcept { return panels_; }

  /// Takes these rows, at most `tokens`, whose elements all fit their steps.
  void take(const TokenRows& x, std::span<const std::size_t> rows) {
    pairs_ = (rows.size() + 1) / 2;
    for (std::size_t p = 0; p < panels_; ++p)
      std::fill_n(whole_.data() + p * panel_size, pairs_ * 2 * columns, std::int16_t{0});
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const float* values = x.row(rows[t], row_.data());
      for (std::size_t i = 0; i < steps_.size(); ++i)
        whole_.data()[i / columns * panel_size + t / 2 * 2 * columns + i % columns * 2 + t % 2] =
            steps_of(values[i], per_one_[i]);
    }
    if (is_split()) split();
  }

  /// out[i][j] += the products of input i of panel `a` with input j of panel `b`, over all tokens.
  template <class Dot>
  void add(std::size_t a, std::size_t b, kernels::PairSums& out) const noexcept {
    // 32 products of 13 bits and sign each, or 510 of 15 and 7 bits, fit 32 bits.
    constexpr std::size_t safe_pairs = 16, safe_split = 255;
    const auto multiply = [&](const Buffer<std::int16_t>& second, std::size_t safe, int shift) {
      kernels::add_pair_products<Dot>(whole_.data() + a * panel_size,
                                      second.data() + b * panel_size, pairs_, safe, shift, out);
    };
    if (!is_split()) return multiply(whole_, safe_pairs, 0);
    multiply(high_, safe_split, 8);
    multiply(low_, safe_split, 0);
  }

 private:
  static constexpr std::size_t panel_size = tokens * columns;

  [[nodiscard]] bool is_split() const noexcept { return steps_.bits() == 16; }

  // To nearest, ties to even: beyond 2^52 float64 has no fractions.
  static std::int16_t steps_of(float x, double per_one) noexcept {
    constexpr double whole_numbers = 0x1.8p52;
    const double v = static_cast<double>(x) * per_one;
    return static_cast<std::int16_t>(v + whole_numbers - whole_numbers);
  }

  void split() noexcept {
    for (std::size_t p = 0; p < panels_; ++p)
      for (std::size_t k = 0; k < pairs_ * 2 * columns; ++k) {
        const std::int32_t v = whole_.data()[p * panel_size + k];
        const std::int32_t low = static_cast<std::int8_t>(static_cast<std::uint8_t>(v & 0xff));
        low_.data()[p * panel_size + k] = static_cast<std::int16_t>(low);
        high_.data()[p * panel_size + k] = static_cast<std::int16_t>((v - low) / 256);
      }
  }

  const InputSteps& steps_;
  std::size_t panels_, pairs_ = 0;
  Buffer<std::int16_t> whole_, high_, low_;
  std::vector<float> row_;
  std::vector<double> per_one_;
};

}  // namespace tq::detail
