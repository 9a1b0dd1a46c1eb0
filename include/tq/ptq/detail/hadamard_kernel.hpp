// SPDX-License-Identifier: MIT
#pragma once
// HadamardKernel: products with a Hadamard matrix of order k 2^p, by additions alone.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tq::detail {

[[nodiscard]] constexpr bool is_prime(std::size_t n) noexcept {
  if (n < 2) return false;
  for (std::size_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return true;
}

/// The order k of the matrix that a matrix of order `n` = k 2^p is made of: 1 for powers of two,
/// else the smallest multiple of 4 with k - 1 prime, for which Paley's construction knows a matrix.
/// 0 where there is none of at most 1024.
[[nodiscard]] constexpr std::size_t paley_order(std::size_t n) noexcept {
  if (n == 0) return 0;
  std::size_t odd = n;
  while (odd % 2 == 0) odd /= 2;
  if (odd == 1) return 1;
  for (std::size_t k = 4 * odd; k <= n && k <= 1024; k *= 2)
    if (n % k == 0 && is_prime(k - 1)) return k;
  return 0;
}

/// The Kronecker product of Paley's matrix of order k, I + S, where S has ones in its first row,
/// minus ones in its first column, and quadratic characters of i - j elsewhere, with Sylvester's of
/// order 2^p.
class HadamardKernel {
 public:
  /// Precondition: paley_order(n) != 0.
  explicit HadamardKernel(std::size_t n) : n_(n), k_(paley_order(n)), signs_(k_ * k_, 1) {
    if (k_ == 1) return;
    const std::size_t q = k_ - 1;
    std::vector<std::int8_t> character(q, -1);
    character[0] = 0;
    for (std::size_t i = 1; i < q; ++i) character[i * i % q] = 1;
    for (std::size_t i = 1; i < k_; ++i) {
      signs_[i * k_] = -1;
      for (std::size_t j = 1; j < k_; ++j)
        if (i != j) signs_[i * k_ + j] = character[(i + q - j) % q];
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return n_; }

  /// x becomes x times the matrix, or times its transpose.
  void run(double* x, bool transposed) const {
    const std::size_t inner = n_ / k_;
    for (std::size_t first = 0; first < n_; first += inner) butterflies(x + first, inner);
    if (k_ == 1) return;
    std::vector<double> column(k_);
    for (std::size_t c = 0; c < inner; ++c) {
      for (std::size_t i = 0; i < k_; ++i) column[i] = x[i * inner + c];
      for (std::size_t j = 0; j < k_; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < k_; ++i) {
          const bool positive = signs_[transposed ? j * k_ + i : i * k_ + j] > 0;
          sum += positive ? column[i] : -column[i];
        }
        x[j * inner + c] = sum;
      }
    }
  }

 private:
  static void butterflies(double* x, std::size_t n) noexcept {
    for (std::size_t half = 1; half < n; half *= 2)
      for (std::size_t first = 0; first < n; first += 2 * half)
        for (std::size_t i = first; i < first + half; ++i) {
          const double a = x[i], b = x[i + half];
          x[i] = a + b;
          x[i + half] = a - b;
        }
  }

  std::size_t n_, k_;
  std::vector<std::int8_t> signs_;
};

}  // namespace tq::detail
