// SPDX-License-Identifier: MIT
#pragma once
// One row of a batch, as loops walk it: where its elements are in the source and in the target.

#include <tq/config.hpp>
#include <tq/driver/bits.hpp>
#include <tq/driver/policies.hpp>
#include <tq/driver/rows.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::driver::detail {

/// A row whose elements lie side by side in the source.
template <class Arch, class S, class K>
struct DenseRow {
  const unsigned char* in;
  unsigned char* out;
  std::size_t n;
  std::uint64_t draw_index;  ///< of its first element

  TQ_FORCE_INLINE explicit DenseRow(const RowBatch<Arch>& r) noexcept
      : in(r.in), out(r.out), n(r.n), draw_index(r.draw_index) {}
  /// To the next one.
  TQ_FORCE_INLINE void advance(const RowBatch<Arch>& r) noexcept {
    in += r.in_step;
    out += r.out_step;
    draw_index += static_cast<std::uint64_t>(r.draw_step);
  }
  using Source = const unsigned char*;
  [[nodiscard]] TQ_FORCE_INLINE Source source() const noexcept { return in; }
  [[nodiscard]] static TQ_FORCE_INLINE auto one(Source from, std::size_t i) noexcept {
    return S::template one<Arch>(from, i);
  }
  [[nodiscard]] TQ_FORCE_INLINE const unsigned char* from(std::size_t i) const noexcept {
    return in + byte_at<S::bits>(i);
  }
  [[nodiscard]] TQ_FORCE_INLINE unsigned char* to(std::size_t i) const noexcept {
    return out + byte_at<K::bits>(i);
  }
};

/// A row whose elements the source finds: `in` is where all of that begins.
template <class Arch, class S, class K>
struct FoundRow : DenseRow<Arch, S, K> {
  std::size_t first;

  TQ_FORCE_INLINE explicit FoundRow(const RowBatch<Arch>& r) noexcept
      : DenseRow<Arch, S, K>(r), first(static_cast<std::size_t>(r.first)) {}
  TQ_FORCE_INLINE void advance(const RowBatch<Arch>& r) noexcept {
    DenseRow<Arch, S, K>::advance(r);
    first += static_cast<std::size_t>(r.first_step);
  }
  /// The index of element i in the source.
  [[nodiscard]] TQ_FORCE_INLINE std::size_t number(std::size_t i) const noexcept {
    return first + i;
  }
  struct Source {
    const unsigned char* begin;
    std::size_t first;
  };
  [[nodiscard]] TQ_FORCE_INLINE Source source() const noexcept { return {this->in, first}; }
  [[nodiscard]] static TQ_FORCE_INLINE auto one(const Source& from, std::size_t i) noexcept {
    return S::template one<Arch>(from.begin, from.first + i);
  }
};

template <class Arch, class S, class K>
using RowOf = std::conditional_t<FindsElements<S>, FoundRow<Arch, S, K>, DenseRow<Arch, S, K>>;

}  // namespace tq::driver::detail
