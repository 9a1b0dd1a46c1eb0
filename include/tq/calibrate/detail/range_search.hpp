// SPDX-License-Identifier: MIT
#pragma once
// The search for the range whose scale and zero point or offset score best.

#include <tq/calibrate/detail/quantizer_grid.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace tq::detail {

/// Scores what a range becomes, the lower the better; NaN is the worst. `rough` may smooth and
/// costs less; exact scores are asked for about `trials` times, 3 * trials times where both ends of
/// the range move.
template <class S>
concept AffineScore = requires(const S& s, Levels a) {
  { S::trials } -> std::convertible_to<int>;
  { s.rough(a) } -> std::same_as<double>;
  { s.exact(a) } -> std::same_as<double>;
};

/// Moves what matters of the observed range (its magnitude; of asymmetric ranges the ends that are
/// not 0; where there is an offset the distances of both ends from the median) by factors: up to 2
/// outwards, since stored scales may be coarse, and inwards to `least`. Takes the best of a rough
/// grid, descends from there, and then scores exactly all around where rough scores are nearly as
/// good: what is left there depends on how single levels meet the values, and has many minima. The
/// observed range wins ties; other ties go to the wider range.
template <AffineScore Score>
class RangeSearch {
 public:
  RangeSearch(const QuantizerGrid& grid, Range seen, double least, const Score& score)
      : grid_(grid),
        score_(score),
        negative_(grid.has_two_ends() ? std::max(grid.middle - double(seen.min), 0.0) : 0.0),
        positive_(grid.has_two_ends() ? std::max(double(seen.max) - grid.middle, 0.0)
                                      : grid.covered(seen)),
        least_(least),
        seen_{seen, grid.fit(seen), 0},
        best_(seen_) {
    best_.score = seen_.score = number(score_.exact(seen_.affine));
  }

  /// Scores ends that are whole parts of the observed ones exactly: where there is no density,
  /// nothing smooth to descend.
  void try_parts() {
    const int parts = two_ends() ? 48 : 1024;
    for (int i = 1; i <= parts; ++i)
      for (int k = two_ends() ? 1 : parts; k <= parts; ++k)
        exact(std::log2(static_cast<double>(k) / parts), std::log2(static_cast<double>(i) / parts));
    if (positive_ > 0) return;
    for (int k = 1; k <= parts; ++k) exact(std::log2(static_cast<double>(k) / parts), 0);
  }

  [[nodiscard]] Range best() {
    const double spacing = two_ends() ? 1 : 1.0 / 16;
    std::vector<Point> starts = apart(rough_grid(spacing), spacing);
    for (Point& p : starts) p = descend(p, spacing / 2, spacing / 4);
    sort(starts);
    const Point start = descend(starts.front(), spacing / 8, 1.0 / 64);
    if (start.score < infinity) explore(start);
    return best_.range;
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  /// The ends are negative_ * 2^low below the middle and positive_ * 2^high above it.
  struct Point {
    double low, high, score;
    std::size_t found = 0;
  };
  struct Candidate {
    Range range;
    Levels affine;
    double score;
  };

  [[nodiscard]] bool two_ends() const noexcept { return negative_ > 0 && positive_ > 0; }
  [[nodiscard]] static double number(double score) noexcept {
    return score == score ? score : infinity;
  }
  // Equal scores stay in the order they were found. std::stable_sort of libstdc++ 12 warns under
  // clang 19.
  static void sort(std::vector<Point>& points) {
    for (std::size_t i = 0; i < points.size(); ++i) points[i].found = i;
    std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
      return std::pair(a.score, a.found) < std::pair(b.score, b.found);
    });
  }

  [[nodiscard]] Range range(const Point& p) const noexcept {
    constexpr double most = double(std::numeric_limits<float>::max());
    if (!grid_.has_two_ends()) return grid_.symmetric(positive_ * std::exp2(p.high));
    return {static_cast<float>(std::max(grid_.middle - negative_ * std::exp2(p.low), -most)),
            static_cast<float>(std::min(grid_.middle + positive_ * std::exp2(p.high), most))};
  }
  [[nodiscard]] Point rough(double low, double high) const {
    Point p{low, high, 0};
    p.score = number(score_.rough(grid_.fit(range(p))));
    return p;
  }
  Point exact(double low, double high) {
    Point p{low, high, 0};
    const Range r = range(p);
    const Levels a = grid_.fit(r);
    p.score = a == best_.affine ? best_.score : number(score_.exact(a));
    const auto width = [](Range x) { return double(x.max) - double(x.min); };
    const bool wins_tie = best_.affine != seen_.affine && width(r) > width(best_.range);
    if (p.score < best_.score || (p.score == best_.score && wins_tie)) best_ = {r, a, p.score};
    return p;
  }

  /// Calls f, which gives a score, for factors of an end that are `spacing` apart, as long as an
  /// octave of them has one that is not far worse than the best: clipping only gets worse, and all
  /// else comes again in every octave.
  template <class F>
  double inwards(double end, double spacing, F&& f) const {
    if (!(end > 0)) return f(0.0);
    const double last = std::clamp(std::log2(least_ / end), -12.0, 0.0);
    double least = infinity;
    for (double octave = 1; octave >= last; --octave) {
      double here = infinity;
      for (double at = octave; at > octave - 1 && at >= last; at -= spacing)
        here = std::min(here, f(at));
      least = std::min(least, here);
      if (here > least + 3 * std::abs(least)) break;
    }
    return least;
  }
  [[nodiscard]] std::vector<Point> rough_grid(double spacing) const {
    std::vector<Point> all;
    inwards(negative_, spacing, [&](double low) {
      return inwards(positive_, spacing, [&](double high) {
        all.push_back(rough(low, high));
        return all.back().score;
      });
    });
    return all;
  }

  /// The best three that are not neighbours.
  [[nodiscard]] static std::vector<Point> apart(std::vector<Point> all, double spacing) {
    sort(all);
    std::vector<Point> out;
    for (const Point& p : all) {
      const auto close = [&](const Point& q) {
        return std::max(std::abs(p.low - q.low), std::abs(p.high - q.high)) < 1.5 * spacing;
      };
      if (std::none_of(out.begin(), out.end(), close)) out.push_back(p);
      if (out.size() == 3) break;
    }
    return out;
  }

  /// Calls f for the neighbours of p.
  template <class F>
  void around(const Point& p, double step, F&& f) const {
    for (const double low : {step, 0.0, -step})
      for (const double high : {step, 0.0, -step}) {
        const bool moves = low != 0 || high != 0;
        if (moves && (low == 0 || negative_ > 0) && (high == 0 || positive_ > 0))
          f(p.low + low, p.high + high);
      }
  }

  /// Downhill by rough scores, in steps that are halved from `first` down to `last`.
  [[nodiscard]] Point descend(Point p, double first, double last) const {
    for (double step = first; step >= last; step /= 2) {
      bool moved = true;
      for (int i = 0; i < 4 && moved; ++i) {
        const Point from = p;
        around(from, step, [&](double low, double high) {
          const Point q = rough(low, high);
          if (q.score < p.score) p = q;
        });
        moved = p.score < from.score;
      }
    }
    return p;
  }

  /// Scores exactly what is within 1 % of the start by rough scores, then around the two best.
  void explore(const Point& start) {
    const double limit = start.score + 0.01 * std::abs(start.score);
    const auto extent = [&](double low, double high) {  // how far one end may move alone
      double e = 1.0 / 64;
      while (e < 0.5 && rough(start.low + e * low, start.high + e * high).score <= limit) e *= 1.5;
      return e;
    };
    std::array<double, 2> low{}, high{};
    if (negative_ > 0) low = {extent(-1, 0), extent(1, 0)};
    if (positive_ > 0) high = {extent(0, -1), extent(0, 1)};

    // Multiples of the golden ratio fill a line evenly; those of 1/r and 1/r^2, where r^3 = r + 1,
    // a square.
    const bool two = two_ends();
    const double first = two ? 0.7548776662466927 : 0.6180339887498949,
                 second = two ? 0.5698402909980532 : first;
    const int trials = two ? 2 * Score::trials : Score::trials;
    std::vector<Point> found{exact(start.low, start.high)};
    for (int i = 1, left = trials; left > 0 && i < 3 * trials; ++i) {
      const double l = start.low - low[0] + std::fmod(i * first, 1.0) * (low[0] + low[1]);
      const double h = start.high - high[0] + std::fmod(i * second, 1.0) * (high[0] + high[1]);
      if (rough(l, h).score > limit) continue;
      found.push_back(exact(l, h));
      --left;
    }
    sort(found);
    found.resize(std::min<std::size_t>(found.size(), two ? 1 : 2));
    const double size = std::max(low[0] + low[1], high[0] + high[1]);
    const double distance = size / (two ? std::sqrt(trials) : trials);  // of what was tried
    for (Point p : found)
      for (const double step : {distance, distance / 2}) {
        const Point from = p;
        around(from, step, [&](double l, double h) {
          const Point q = exact(l, h);
          if (q.score < p.score) p = q;
        });
      }
  }

  QuantizerGrid grid_;
  const Score& score_;
  double negative_, positive_, least_;
  Candidate seen_, best_;
};

}  // namespace tq::detail
