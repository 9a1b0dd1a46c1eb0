// SPDX-License-Identifier: MIT
#pragma once
// GroupRuns and GroupFitter: groups of columns whose parameters are made when they begin.

#include <tq/core/fit_params.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/error.hpp>
#include <tq/ptq/factor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::detail {

/// The places of each group of columns in an order that keeps groups together.
class GroupRuns {
 public:
  /// Throws: `errc::bad_argument` unless parameters are those of one row each, and columns of a
  /// group lie beside each other in `order`; what the granularity finds.
  template <Granularity G>
  GroupRuns(const char* function, const G& granularity, const Shape& shape,
            std::span<const std::uint32_t> order) {
    detail::require_possible(function, granularity, shape);
    const Shape block = granularity.block(shape);
    if (block[0] != 1)
      raise_expected(errc::bad_argument, function,
                     {"groups of inputs of one output each for parameters made on the way"},
                     {G::name});
    groups_ = (shape[1] + block[1] - 1) / block[1];
    std::vector<std::size_t> seen(groups_);
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::size_t group = order[place] / block[1];
      if (place == 0 || group != of_place_.back()) {
        if (seen[group]++ != 0)
          raise_expected(errc::bad_argument, function,
                         {"an order with the columns of each group beside each other for "
                          "parameters made on the way (NaturalOrder, or ByGroup of ",
                          block[1], ")"},
                         {"one that comes back to group ", group});
        begins_.push_back(place);
      }
      of_place_.push_back(group);
    }
    begins_.push_back(order.size());
  }

  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }
  [[nodiscard]] std::size_t group(std::size_t place) const noexcept { return of_place_[place]; }
  /// The first place of run `i`, and behind the last run the number of places.
  [[nodiscard]] std::size_t begin(std::size_t i) const noexcept { return begins_[i]; }

 private:
  std::size_t groups_ = 0;
  std::vector<std::size_t> of_place_, begins_;
};

/// Fits the lanes of a strip to each group when it begins.
template <class Strip, AnyParams Params>
class GroupFitter {
  static_assert(std::same_as<typename Params::scale_type, float> ||
                    CodedElement<typename Params::scale_type>,
                "tq::gptq: scales that depend on those of other groups cannot be made on the way: "
                "calibrate parameters first");

 public:
  GroupFitter(const GroupRuns& runs, const HessianFactor& factor)
      : runs_(runs), factor_(factor), ranges_(runs.groups() * Strip::lanes) {}

  /// Where a group begins at `place`, gives lanes their parameters.
  void begin(Strip& strip, std::size_t place) {
    if (place != runs_.begin(next_)) return;
    const std::size_t last = runs_.begin(++next_);
    strip.feedback().look_ahead(place, last);
    Range* ranges = ranges_.data() + runs_.group(place) * Strip::lanes;
    find_ranges(strip, place, last, ranges);
    for (std::size_t c = 0; c < Strip::lanes; ++c)
      strip.grid().set(c, fit_affine<Params>(ranges[c]));
  }

  /// Ranges of all groups of a lane.
  void ranges(std::size_t lane, Range* out) const noexcept {
    for (std::size_t g = 0; g < runs_.groups(); ++g) out[g] = ranges_[g * Strip::lanes + lane];
  }

 private:
  // The best real weights of places [first, last) are w + x with x U = v - w, where v are the best
  // values that do not count on places of the group.
  void find_ranges(Strip& strip, std::size_t first, std::size_t last, Range* ranges) {
    constexpr std::size_t rows = Strip::rows;
    moves_.resize((last - first) * rows);
    for (std::size_t j = first; j < last; ++j) {
      const float* w = strip.weights(j);
      const double* v = strip.feedback().target(j);
      double move[rows];
      for (std::size_t r = 0; r < rows; ++r) move[r] = v[r] - static_cast<double>(w[r]);
      for (std::size_t i = first; i < j; ++i) {
        const double u = factor_.coefficient(i, j);
        const float* x = moves_.data() + (i - first) * rows;
        for (std::size_t r = 0; r < rows; ++r) move[r] -= static_cast<double>(x[r]) * u;  // exact
      }
      for (std::size_t r = 0; r < rows; ++r) {
        moves_[(j - first) * rows + r] = static_cast<float>(move[r]);
        include(static_cast<float>(static_cast<double>(w[r]) + move[r]), j == first, ranges[r]);
        include(w[r], j == first, ranges[rows + r]);
      }
    }
  }
  static void include(float v, bool is_first, Range& range) noexcept {
    range.min = is_first ? v : std::min(range.min, v);
    range.max = is_first ? v : std::max(range.max, v);
  }

  const GroupRuns& runs_;
  const HessianFactor& factor_;
  std::vector<Range> ranges_;
  std::vector<float> moves_;
  std::size_t next_ = 0;
};

}  // namespace tq::detail
