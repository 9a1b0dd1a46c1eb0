// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/calibrate/detail/divergence.hpp.

#include <tq/calibrate/detail/divergence.hpp>

#include <limits>

namespace tq::detail {

TQ_CORE_API NumberedBins::NumberedBins(const BinCounts& bins, Signs signs, double beyond_below,
                                       double beyond_above)
    : beyond_below_(beyond_below), beyond_above_(beyond_above) {
  fill(bins, signs);
}

TQ_CORE_API std::int64_t NumberedBins::end() const noexcept {
  return first_ + static_cast<std::int64_t>(counts_.size());
}

TQ_CORE_API double NumberedBins::divergence(std::int64_t begin, std::int64_t last,
                                            std::span<const double> cuts) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double total = counted_.back() + beyond_below_ + beyond_above_;
  const double below = counted_before(begin) + beyond_below_;
  const double above = counted_.back() - counted_before(last) + beyond_above_;
  const double inside = total - below - above;
  if (!(inside > 0) || (below > 0 && count(begin) == 0) || (above > 0 && count(last - 1) == 0))
    return infinity;

  // With N = sum P and M = sum Q: KL = (sum P log P - sum P log Q) / N - log N + log M.
  double p_log_p = logs_before(last) - logs_before(begin), p_log_q = 0;
  const auto add_outside = [&](double inner, double outer) {
    p_log_p += x_log_x(inner + outer) - x_log_x(inner);
  };
  if (last - begin == 1) {
    add_outside(count(begin), below + above);
  } else {
    add_outside(count(begin), below);
    add_outside(count(last - 1), above);
  }
  double first_q = 0, last_q = 0;  // of the bins that got what lies outside
  const auto bins_have = [&](std::int64_t from, std::int64_t to, double q) {
    const double counted = counted_before(to) - counted_before(from);
    if (counted > 0) p_log_q += counted * log_(q);
    if (from == begin) first_q = q;
    if (to == last) last_q = q;
  };
  // Places are counted from the beginning of the window, so that conversion to integers rounds
  // them down.
  double part = 0, lo = 0;  // part: of the bin that was cut last
  const auto bins = static_cast<double>(last - begin), start = static_cast<double>(begin - first_);
  Sums before = sums_before(start);
  for (std::size_t k = 0; k <= cuts.size(); ++k) {
    const double hi = k < cuts.size() ? cuts[k] * bins : bins;
    const Sums after = sums_before(start + hi);
    const double filled = after.filled - before.filled;
    const double density = filled > 0 ? (after.counted - before.counted) / filled : 0;
    const auto to = static_cast<std::int64_t>(hi);
    auto from = static_cast<std::int64_t>(lo);
    if (static_cast<double>(from) < lo) ++from;
    if (to < from) {
      part += (hi - lo) * density;
    } else {
      if (lo < static_cast<double>(from)) {
        part += (static_cast<double>(from) - lo) * density;
        bins_have(begin + from - 1, begin + from, part);
      }
      if (from < to) bins_have(begin + from, begin + to, density);
      part = (hi - static_cast<double>(to)) * density;
    }
    lo = hi;
    before = after;
  }
  if (below > 0) p_log_q += below * std::log(first_q);
  if (above > 0) p_log_q += above * std::log(last_q);
  return (p_log_p - p_log_q) / total - std::log(total) + std::log(inside);
}

TQ_CORE_API void NumberedBins::fill(const BinCounts& bins, Signs signs) {
  const std::vector<std::uint64_t>& counts = bins.counts;
  const double origin = std::nearbyint(bins.origin / bins.width * 0x1p20) * 0x1p-20;
  struct Piece {
    double lo, hi, count;
  };
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double lo = origin + static_cast<double>(i), hi = lo + 1,
                 n = static_cast<double>(counts[i]);
    if (signs == Signs::kept || lo >= 0) {
      pieces.push_back({lo, hi, n});
    } else {
      const double negative = std::min(-lo, 1.0);
      if (signs == Signs::folded) pieces.push_back({std::max(-hi, 0.0), -lo, n * negative});
      if (hi > 0) pieces.push_back({0, hi, n * (1 - negative)});
    }
  }
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const Piece& p : pieces) {
    least = std::min(least, std::floor(p.lo));
    most = std::max(most, std::ceil(p.hi));
  }
  first_ = pieces.empty() ? 0 : static_cast<std::int64_t>(least);
  counts_.assign(pieces.empty() ? 0 : static_cast<std::size_t>(most - least), 0.0);
  for (const Piece& p : pieces) {
    const double cut = std::min(std::floor(p.lo) + 1, p.hi), share = (cut - p.lo) / (p.hi - p.lo);
    const auto i = static_cast<std::size_t>(std::floor(p.lo) - least);
    counts_[i] += p.count * share;
    if (share < 1) counts_[i + 1] += p.count * (1 - share);
  }
  counted_.assign(1, 0.0);
  filled_.assign(1, 0.0);
  logs_.assign(1, 0.0);
  for (const double c : counts_) {
    counted_.push_back(counted_.back() + c);
    filled_.push_back(filled_.back() + (c > 0 ? 1 : 0));
    logs_.push_back(logs_.back() + x_log_x(c));
  }
}

TQ_CORE_API std::size_t NumberedBins::index(std::int64_t bin) const noexcept {
  return static_cast<std::size_t>(std::clamp(bin - first_, std::int64_t{0}, end() - first_));
}

TQ_CORE_API double NumberedBins::counted_before(std::int64_t bin) const noexcept {
  return counted_[index(bin)];
}

TQ_CORE_API double NumberedBins::count(std::int64_t bin) const noexcept {
  return bin >= first_ && bin < end() ? counts_[static_cast<std::size_t>(bin - first_)] : 0.0;
}

TQ_CORE_API NumberedBins::Sums NumberedBins::sums_before(double place) const noexcept {
  if (!(place > 0)) return {0, 0};
  const auto i = static_cast<std::size_t>(place);
  if (i >= counts_.size()) return {counted_.back(), filled_.back()};
  const double rest = place - static_cast<double>(i);
  return {counted_[i] + rest * counts_[i], filled_[i] + rest * (filled_[i + 1] - filled_[i])};
}

}  // namespace tq::detail
