// SPDX-License-Identifier: MIT
#pragma once
// Triangle: the places of the upper triangle of a symmetric matrix, row by row.

#include <tq/error.hpp>

#include <cstddef>
#include <utility>

namespace tq::detail {

/// Most inputs of a layer whose Hessian is kept.
inline constexpr std::size_t most_inputs = std::size_t{1} << 20;

/// The elements (i, j), i <= j, of a matrix of `n` rows: row by row, each from its diagonal on.
class Triangle {
 public:
  constexpr explicit Triangle(std::size_t n) noexcept : n_(n) {}
  [[nodiscard]] constexpr std::size_t size() const noexcept { return n_ * (n_ + 1) / 2; }
  /// Precondition: i <= j < n.
  [[nodiscard]] constexpr std::size_t at(std::size_t i, std::size_t j) const noexcept {
    return i * n_ - i * (i + 1) / 2 + j;
  }
  /// The element that (i, j) and (j, i) share.
  [[nodiscard]] constexpr std::size_t either(std::size_t i, std::size_t j) const noexcept {
    return i <= j ? at(i, j) : at(j, i);
  }

 private:
  std::size_t n_;
};

inline void require_inputs(const char* function, std::size_t inputs) {
  if (inputs == 0 || inputs > most_inputs)
    raise_expected(errc::bad_argument, function, {"1 to ", most_inputs, " inputs"}, {inputs});
}

}  // namespace tq::detail
