// SPDX-License-Identifier: MIT
#pragma once
// Percentile: quantiles of a stream, exact while it is short.

#include <tq/error.hpp>
#include <tq/observe/histogram.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tq {

/// Keeps the finite values of a stream while there are at most `capacity` of them, and from then on
/// a Histogram of all of them. NaN and infinities are skipped and counted. The state depends on
/// the values alone, not on their order or the cuts of the stream. Trivially copyable; kept
/// values are in no order, so objects are compared with ==, not as bytes.
class Percentile {
 public:
  static constexpr std::size_t capacity = 4096;

  /// The seen values: all finite values in ascending order, or their histogram.
  struct State {
    std::vector<float> values;
    std::optional<Histogram::State> histogram;  ///< its own `nan` and `infinite` are 0
    std::uint64_t nan = 0, infinite = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  template <Backend B = default_backend>
  void add(std::span<const float> x) noexcept {
    if (auto* h = std::get_if<Histogram>(&seen_)) {
      h->add<B>(x);
    } else if (has_room_for<B>(x)) {
      keep(x);
    } else {
      become_histogram<B>().template add<B>(x);
    }
  }

  // A template, so that only who merges compiles it.
  template <class = void>
  void merge(const Percentile& other) noexcept {
    nan_ += other.nan_;
    infinite_ += other.infinite_;
    if (is_exact() && other.is_exact() && kept().size() + other.kept().size() <= capacity)
      return keep(other.kept());
    Histogram& all = is_exact() ? become_histogram<OneByOne>() : *std::get_if<Histogram>(&seen_);
    if (const Histogram* h = other.histogram()) all.merge(*h);
    else all.add<OneByOne>(other.kept());
  }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return is_exact() && kept().empty(); }
  /// True while quantiles are those of the values themselves.
  [[nodiscard]] bool is_exact() const noexcept { return std::holds_alternative<Kept>(seen_); }
  /// The smallest and largest finite value seen. Precondition: not empty().
  [[nodiscard]] Range range() const noexcept {
    if (const Histogram* h = histogram()) return h->range();
    const auto [least, most] = std::minmax_element(kept().begin(), kept().end());
    return {*least, *most};
  }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept {
    const Histogram* h = histogram();
    return nan_ + infinite_ + (h != nullptr ? h->count() : kept().size());
  }
  [[nodiscard]] std::uint64_t nan_count() const noexcept {
    const Histogram* h = histogram();
    return nan_ + (h != nullptr ? h->nan_count() : 0);
  }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept {
    const Histogram* h = histogram();
    return infinite_ + (h != nullptr ? h->infinite_count() : 0);
  }

  /// The value that a share p of the finite values does not exceed. While is_exact(): with x[0] <=
  /// ... <= x[n - 1],
  ///     x[i] + (x[i + 1] - x[i]) * (p * (n - 1) - i),  i = floor(p * (n - 1)),
  /// as NumPy does; else as Histogram does. Preconditions: not empty(), 0 <= p <= 1.
  [[nodiscard]] float quantile(double p) const noexcept {
    if (const Histogram* h = histogram()) return h->quantile(p);
    std::array<float, capacity> x;
    const auto end = std::copy(kept().begin(), kept().end(), x.begin());
    const auto last = static_cast<double>(kept().size() - 1);
    const auto at = static_cast<std::ptrdiff_t>(p * last);
    std::nth_element(x.begin(), x.begin() + at, end);
    const double lo = double(x[static_cast<std::size_t>(at)]);
    const auto next = x.begin() + at + 1;
    const double hi = next < end ? double(*std::min_element(next, end)) : lo;
    // fma, so that every build rounds alike.
    return static_cast<float>(std::fma(hi - lo, std::fma(p, last, -static_cast<double>(at)), lo));
  }

  /// The finite values in ascending order; none once they became a histogram.
  [[nodiscard]] std::vector<float> values() const {
    if (!is_exact()) return {};
    std::vector<float> sorted(kept().begin(), kept().end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  /// The histogram of the values, or null while is_exact().
  [[nodiscard]] const Histogram* histogram() const noexcept {
    return std::get_if<Histogram>(&seen_);
  }

  [[nodiscard]] State state() const {
    State s{values(), std::nullopt, nan_count(), infinite_count()};
    if (const Histogram* h = histogram()) {
      s.histogram = h->state();
      s.histogram->nan = s.histogram->infinite = 0;
    }
    return s;
  }
  /// Throws: `errc::malformed` when no values give this state.
  [[nodiscard]] static Percentile from_state(const State& s) {
    Percentile p;
    std::uint64_t finite = s.values.size();
    if (s.histogram) {
      check(s.values.empty(), {"values or a histogram"}, {"both"});
      check(s.histogram->nan == 0 && s.histogram->infinite == 0, {"a histogram of finite values"},
            {"NaN or infinities"});
      const Histogram h = Histogram::from_state(*s.histogram);
      finite = h.finite_count();
      check(finite > capacity, {"a histogram of more than ", capacity, " values"}, {finite});
      p.seen_ = h;
    } else {
      check(finite <= capacity, {"at most ", capacity, " values"}, {finite});
      p.keep(s.values);
      check(p.kept().size() == finite, {"finite values"}, {"others"});
      check(std::is_sorted(s.values.begin(), s.values.end()), {"ascending values"},
            {"another order"});
    }
    check(s.infinite <= ~s.nan && finite <= ~s.nan - s.infinite, {"a total below 2^64"}, {"more"});
    p.nan_ = s.nan;
    p.infinite_ = s.infinite;
    return p;
  }

  friend bool operator==(const Percentile& a, const Percentile& b) {
    return a.state() == b.state();
  }

 private:
  struct Kept {
    Kept() noexcept
        : values{}, size(0) {}  // initialisers of members are not known to the variant yet
    std::array<float, capacity> values;
    std::size_t size;
  };

  static void check(bool ok, detail::TextParts expected, detail::TextParts got) {
    if (!ok) detail::raise_expected(errc::malformed, "tq::Percentile::from_state", expected, got);
  }

  // Precondition: is_exact().
  [[nodiscard]] std::span<const float> kept() const noexcept {
    const Kept& k = *std::get_if<Kept>(&seen_);
    return {k.values.data(), k.size};
  }
  // Precondition: is_exact().
  template <Backend B>
  [[nodiscard]] bool has_room_for(std::span<const float> x) const noexcept {
    std::size_t room = capacity - kept().size();
    while (x.size() > room) {
      const std::size_t n = std::min(x.size(), capacity);
      const kernels::Extremes e = B::min_max::run(x.data(), n);
      const std::size_t finite = n - static_cast<std::size_t>(e.nan + e.infinite);
      if (finite > room) return false;
      room -= finite;
      x = x.subspan(n);
    }
    return true;
  }
  // Preconditions: is_exact(), and there is room.
  void keep(std::span<const float> x) noexcept {
    Kept& k = *std::get_if<Kept>(&seen_);
    for (const float v : x) {
      if (std::fabs(v) <= std::numeric_limits<float>::max())
        k.values[k.size++] = v + 0.0f;  // no -0
      else ++(v == v ? infinite_ : nan_);
    }
  }

  // The name of a merge tells no instruction set, so it has none.
  struct OneByOne {
    using histogram = kernels::histogram<arch::scalar>;
    using min_max = kernels::min_max<arch::scalar>;
    using tiles = void;
  };

  // Its copy is off the stack before more is counted. Precondition: is_exact().
  template <Backend B>
  TQ_NO_INLINE Histogram& become_histogram() noexcept {
    std::array<float, capacity> values;
    const std::size_t n = kept().size();
    std::copy(kept().begin(), kept().end(), values.begin());
    auto& h = seen_.emplace<Histogram>();
    h.add<B>(std::span(values).first(n));
    return h;
  }

  std::variant<Kept, Histogram> seen_;
  std::uint64_t nan_ = 0, infinite_ = 0;  // a histogram counts those that came after it
};

}  // namespace tq
