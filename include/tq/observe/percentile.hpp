// SPDX-License-Identifier: MIT
#pragma once
// Percentile: quantiles of a stream, exact while it is short.

#include <tq/bodies.hpp>
#include <tq/error.hpp>
#include <tq/observe/histogram.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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
  [[nodiscard]] TQ_CORE_API Range range() const noexcept;
  /// Values seen, the skipped ones included.
  [[nodiscard]] TQ_CORE_API std::uint64_t count() const noexcept;
  [[nodiscard]] TQ_CORE_API std::uint64_t nan_count() const noexcept;
  [[nodiscard]] TQ_CORE_API std::uint64_t infinite_count() const noexcept;

  /// The value that a share p of the finite values does not exceed. While is_exact(): with x[0] <=
  /// ... <= x[n - 1],
  ///     x[i] + (x[i + 1] - x[i]) * (p * (n - 1) - i),  i = floor(p * (n - 1)),
  /// as NumPy does; else as Histogram does. Preconditions: not empty(), 0 <= p <= 1.
  [[nodiscard]] TQ_CORE_API float quantile(double p) const noexcept;

  /// The finite values in ascending order; none once they became a histogram.
  [[nodiscard]] TQ_CORE_API std::vector<float> values() const;
  /// The histogram of the values, or null while is_exact().
  [[nodiscard]] const Histogram* histogram() const noexcept {
    return std::get_if<Histogram>(&seen_);
  }

  [[nodiscard]] TQ_CORE_API State state() const;
  /// Throws: `errc::malformed` when no values give this state.
  [[nodiscard]] TQ_CORE_API static Percentile from_state(const State& s);

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

  TQ_CORE_API static void check(bool ok, detail::TextParts expected, detail::TextParts got);

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
  TQ_CORE_API void keep(std::span<const float> x) noexcept;

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

#ifndef TQ_KERNEL_LIBRARY
#include <tq/observe/percentile.ipp>
#endif
