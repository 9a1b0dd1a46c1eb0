// SPDX-License-Identifier: MIT
#pragma once
// hqq_offset: the offset of a group by half-quadratic splitting.

#include <tq/core/fit_params.hpp>
#include <tq/core/offsets.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/error.hpp>
#include <tq/numeric/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tq {

/// Options of `hqq`.
struct HqqOptions {
  double norm = 0.7;     ///< the power of errors that counts, above 0 and at most 1
  double penalty = 10;   ///< of the first iteration: a larger one moves offsets less
  double growth = 1.01;  ///< of the penalty, each iteration, at least 1
  std::size_t iterations = 20;
  /// An importance for each input, such as the diagonal of a Hessian; without them all are 1.
  std::vector<double> importances = {};
  /// Keeps the offset of the last iteration, as the reference implementation does, and not the
  /// best.
  bool keep_last = false;
};

namespace detail {

inline void require_hqq_options(const HqqOptions& options) {
  const auto refuse = [](const char* expected, double got) {
    raise_expected(errc::bad_argument, "tq::hqq", {expected}, {static_cast<float>(got)});
  };
  if (!(options.norm > 0 && options.norm <= 1))
    refuse("a norm above 0 and at most 1", options.norm);
  if (!(options.penalty > 0 && options.penalty <= 1e6))
    refuse("a penalty above 0 and at most 1e6", options.penalty);
  if (!(options.growth >= 1 && options.growth <= 2)) refuse("a growth of 1 to 2", options.growth);
}

/// An offset that moves among those that are stored as S and with which all codes have finite
/// values. `A` has the scale and the offset.
template <OffsetType S, class A>
class MovedOffset {
 public:
  MovedOffset(CodeRange codes, const A& start) : codes_(codes), affine_(start) {
    store(double{start.offset});
  }

  [[nodiscard]] const A& affine() const noexcept { return affine_; }
  [[nodiscard]] typename Offsets<S>::stored_type stored() const noexcept { return stored_; }
  void move(double by) { store(double{affine_.offset} + by); }

 private:
  void store(double offset) {
    constexpr double most = std::numeric_limits<float>::max();
    const auto nearest = static_cast<float>(std::clamp(offset, -most, most));
    stored_ = stored_offset<S>(nearest, [&](float o) {
      return is_finite(value_at(codes_.min, affine_.scale, o)) &&
             is_finite(value_at(codes_.max, affine_.scale, o));
    });
    if constexpr (std::same_as<S, float>) affine_.offset = stored_;
    else affine_.offset = S::format::decode(stored_);
  }

  CodeRange codes_;
  A affine_;
  typename Offsets<S>::stored_type stored_{};
};

/// The best of the offsets that half-quadratic splitting finds for the elements of `block`, a
/// `BlockSearch`. `at` is the first; it has affine(), the numbers of the block, and move(by), which
/// moves the offset. With values r of codes and errors d = x - r, the errors that the norm forgives
/// are e = sign(d) max(|d| - |d|^(p - 1) / penalty, 0), and the offset moves by the mean of d - e.
template <class Block, class Moved>
[[nodiscard]] Moved hqq_offset(Block& block, Moved at, const HqqOptions& options) {
  Moved best = at;
  double least = std::numeric_limits<double>::infinity(), penalty = options.penalty;
  const std::span<const float> x = block.elements();
  const std::span<const double> importances = block.importances();
  for (std::size_t i = 0; i <= options.iterations; ++i, penalty *= options.growth) {
    const std::span<const float> values = block.values(at.affine());
    double error = 0, moves = 0, weight = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double d = static_cast<double>(x[k]) - static_cast<double>(values[k]),
                   size = std::fabs(d);
      const double move = std::min(size, std::pow(size, options.norm - 1) / penalty);
      error += uncontracted(importances[k] * size);
      moves += uncontracted(importances[k] * std::copysign(move, d));
      weight += importances[k];
    }
    if (error < least || options.keep_last) least = error, best = at;
    if (error == 0 || weight == 0) break;
    at.move(moves / weight);
  }
  return best;
}

}  // namespace detail
}  // namespace tq
