// SPDX-License-Identifier: MIT
#pragma once
// Sums over two runs of values, in double: what error metrics are made of.

#include <tq/config.hpp>

#include <cmath>
#include <cstddef>

namespace tq::kernels {

/// Sums over values x and y with e = x - y. A sum is NaN if a summand is.
struct Differences {
  double error2 = 0;   ///< e^2
  double error1 = 0;   ///< |e|
  double largest = 0;  ///< |e|, the largest
  double x2 = 0, y2 = 0, xy = 0;
};

/// `add` adds n pairs. Lane i sums elements i, i + 8, ..., whatever the instruction set is.
template <class Arch>
struct differences {
  static constexpr std::size_t lanes = 8;

  static void add(const float* x, const float* y, std::size_t n, Differences& sums) noexcept {
    const std::size_t whole = n / lanes * lanes;
    if (whole != 0) {
      Lanes seen;
      seen.add(x, y, whole);
      seen.put_into(sums);
    }
    add_rest(x + whole, y + whole, n - whole, sums);
  }

  /// The same of pairs that come in pieces, in order: read(i, m, x, y) points x and y to m of them
  /// from number i on. Precondition: `piece` is a multiple of 8.
  template <class Read>
  static void add_pieces(std::size_t n, std::size_t piece, Read&& read,
                         Differences& sums) noexcept {
    const float *x = nullptr, *y = nullptr;
    Lanes seen;
    for (std::size_t i = 0; i < n; i += piece) {
      const std::size_t m = n - i < piece ? n - i : piece, whole = m / lanes * lanes;
      read(i, m, x, y);
      seen.add(x, y, whole);
      if (i + m < n) continue;
      if (n >= lanes) seen.put_into(sums);
      add_rest(x + whole, y + whole, m - whole, sums);
    }
  }

  /// Adds what was summed over other values.
  static void merge(const Differences& from, Differences& to) noexcept {
    put(to, from.error2, from.error1, from.largest, from.x2, from.y2, from.xy);
  }

 private:
  struct Lanes {
    double error2[lanes] = {}, error1[lanes] = {}, largest[lanes] = {}, x2[lanes] = {},
           y2[lanes] = {}, xy[lanes] = {};

    TQ_FORCE_INLINE void add(const float* x, const float* y, std::size_t n) noexcept {
      for (std::size_t i = 0; i < n; i += lanes)
        TQ_ONE_COPY for (std::size_t k = 0; k < lanes;
                         ++k) {  // kept a loop: g++ makes vectors of it, and of its copies none
          const double a = double(x[i + k]), b = double(y[i + k]), e = a - b, m = std::fabs(e);
          error2[k] += e * e;
          error1[k] += m;
          largest[k] = m > largest[k] ? m : largest[k];
          x2[k] += a * a;
          y2[k] += b * b;
          xy[k] += a * b;
        }
    }
    TQ_FORCE_INLINE void put_into(Differences& sums) const noexcept {
      for (std::size_t k = 0; k < lanes; ++k)
        put(sums, error2[k], error1[k], largest[k], x2[k], y2[k], xy[k]);
    }
  };

  static TQ_FORCE_INLINE void add_rest(const float* x, const float* y, std::size_t n,
                                       Differences& sums) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
      const double a = double(x[i]), b = double(y[i]), e = a - b, m = std::fabs(e);
      put(sums, e * e, m, m, a * a, b * b, a * b);
    }
  }

  static TQ_FORCE_INLINE void put(Differences& to, double error2, double error1, double largest,
                                  double x2, double y2, double xy) noexcept {
    to.error2 += error2;
    to.error1 += error1;
    to.largest = to.error1 != to.error1 ? to.error1
                 : largest > to.largest ? largest
                                        : to.largest;  // NaN is no larger number
    to.x2 += x2;
    to.y2 += y2;
    to.xy += xy;
  }
};

}  // namespace tq::kernels
