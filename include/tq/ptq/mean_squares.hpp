// SPDX-License-Identifier: MIT
#pragma once
// MeanSquares: the mean square of each input of a layer over tokens, exact, whatever batches they
// come in.

#include <tq/arch/isa.hpp>
#include <tq/core/detail/expectations.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/observe/detail/exact_sum.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/token_rows.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq {

/// The mean of x[i]^2 over tokens x, for each input i: the importance of inputs. Sums are integers
/// of many digits, so that any cut into batches, threads and processes gives the same bits. Tokens
/// with NaN or infinities are counted and left out.
class MeanSquares {
 public:
  explicit MeanSquares(std::size_t inputs) : sums_(inputs) {}

  /// Adds the tokens of activations [..., inputs], which count as float32. The result does not
  /// depend on `executor`. Throws: `errc::shape_mismatch` for other inputs; `errc::bad_argument`
  /// for more than 2^53 tokens. Nothing is added then.
  template <class Arch = arch::native, Executor E = Serial, Readable X = ConstTensorView>
  void add(const X& x, const E& executor = serial) {
    const auto floats = detail::read_floats("tq::MeanSquares::add", x);
    const auto& view = floats.view();
    const detail::TokenRows rows("tq::MeanSquares::add", view, inputs());
    require_tokens("tq::MeanSquares::add", rows.used().size());
    // Rows that are not contiguous are copied, once.
    const std::size_t n = inputs();
    const bool is_contiguous = n != 0 && view.stride(view.shape().rank() - 1) == 1;
    const std::size_t width = is_contiguous ? panel : std::max<std::size_t>(n, 1);
    executor((n + width - 1) / width, [&](std::size_t p) {
      add_columns<Arch>(rows, p * width, std::min(n, (p + 1) * width));
    });
    tokens_ += rows.used().size();
    left_out_ += rows.left_out();
  }

  /// Takes the tokens of another one. Throws: `errc::shape_mismatch` for other inputs;
  /// `errc::bad_argument` for more than 2^53 tokens.
  void merge(const MeanSquares& other) {
    detail::require_count("tq::MeanSquares::merge", "inputs", inputs(), other.inputs());
    require_tokens("tq::MeanSquares::merge", other.tokens_);
    for (std::size_t i = 0; i < inputs(); ++i) sums_[i].add(other.sums_[i]);
    tokens_ += other.tokens_;
    left_out_ += other.left_out_;
  }

  [[nodiscard]] std::size_t inputs() const noexcept { return sums_.size(); }
  /// Tokens that were added.
  [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_; }
  /// Tokens that were left out, for NaN or infinities.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }
  /// The sum of squares of input i. Precondition: i < inputs().
  [[nodiscard]] double sum(std::size_t i) const noexcept { return sums_[i].value(); }
  /// The mean square of input i; 0 without tokens. Precondition: i < inputs().
  [[nodiscard]] double mean(std::size_t i) const noexcept {
    return tokens_ == 0 ? 0.0 : sum(i) / static_cast<double>(tokens_);
  }

  /// Everything there is to know, to be stored: sums in digits of base 2^32 and in steps of 2^-298.
  struct State {
    std::uint64_t tokens, left_out;
    std::vector<detail::square_sum::digits_type> sums;
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] State state() const {
    State out{tokens_, left_out_, {}};
    for (const detail::square_sum& sum : sums_) out.sums.push_back(sum.digits());
    return out;
  }
  /// Continues from a stored state. Throws: `errc::malformed` for a state that no tokens lead to.
  [[nodiscard]] static MeanSquares from_state(const State& s) {
    constexpr const char* function = "tq::MeanSquares::from_state";
    if (s.tokens > most_tokens)
      detail::raise_expected(errc::malformed, function, {"at most 2^53 tokens"}, {s.tokens});
    MeanSquares out(s.sums.size());
    for (std::size_t i = 0; i < s.sums.size(); ++i) {
      detail::require_digits(function, s.sums[i]);
      out.sums_[i] = detail::square_sum(s.sums[i]);
      // Squares are below 2^256.
      if (!(out.sum(i) <= static_cast<double>(s.tokens) * 0x1p256))
        detail::raise_expected(errc::malformed, function,
                               {"the sum of squares of ", s.tokens, " tokens"},
                               {"a larger one of input ", i});
    }
    out.tokens_ = s.tokens;
    out.left_out_ = s.left_out;
    return out;
  }
  friend bool operator==(const MeanSquares&, const MeanSquares&) = default;

 private:
  static constexpr std::uint64_t most_tokens = std::uint64_t{1} << 53;
  static constexpr std::size_t panel = 64;  // inputs whose sums stay in the first cache

  void require_tokens(const char* function, std::uint64_t more) const {
    if (more > most_tokens - tokens_)
      detail::raise_expected(errc::bad_argument, function, {"at most 2^53 tokens"},
                             {tokens_, " and ", more});
  }

  template <class Arch>
  void add_columns(const detail::TokenRows& rows, std::size_t first, std::size_t last) {
    constexpr std::size_t block = std::size_t{1} << 20;                  // tokens between carries
    std::vector<float> memory(last - first == inputs() ? inputs() : 0);  // of rows that are copied
    const std::span<const std::size_t> used = rows.used();
    for (std::size_t from = 0; from < used.size(); from += block) {
      for (const std::size_t t : used.subspan(from, std::min(block, used.size() - from))) {
        const float* const values = rows.row(t, memory.data());
        for (std::size_t i = first; i < last; ++i) add_square<Arch>(sums_[i], values[i]);
      }
      for (std::size_t i = first; i < last; ++i) sums_[i].carry();
    }
  }
  // Precondition: `x` is finite.
  template <class Arch>
  static void add_square(detail::square_sum& sum, float x) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), e = bits >> 23 & 0xff;
    const std::uint64_t significand = (bits & 0x7fffffu) | (e != 0 ? 0x800000u : 0u);
    sum.add(significand * significand, 2 * (static_cast<int>(e == 0 ? 1 : e) - 150));
  }

  std::vector<detail::square_sum> sums_;
  std::uint64_t tokens_ = 0, left_out_ = 0;
};

}  // namespace tq
