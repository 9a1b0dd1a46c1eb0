// SPDX-License-Identifier: MIT
#pragma once
// Cursors: from a table to the registers of the block at element i of a row, one for each form of
// parameters.

#include <tq/driver/table.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tq::driver {

/// Where the parameters of a row's elements are in a table.
struct Entries {
  const float* scale;
  const std::int32_t* origin;  ///< null where all are 0
  std::size_t first;
  unsigned shift;

  /// The entry of element i.
  [[nodiscard]] TQ_FORCE_INLINE std::size_t of(std::size_t i) const noexcept {
    return first + (i >> shift);
  }
};
/// The shift of rows with one entry.
inline constexpr unsigned one_entry = 8 * sizeof(std::size_t) - 1;

#if TQ_HAS_SIMD

/// A cursor gives the parameters of register k of the block at element i. It is made of a table,
/// the entry where a row begins, and a shift: that of blocks is entry i >> shift. Blocks may begin
/// at multiples of `grain`. Model: `Constant`.

/// One parameter, in registers.
template <class Arch>
class Constant {
  using Floats = arch::floats<Arch>;

 public:
  static constexpr bool has_reciprocals = true, per_lane = false;
  static constexpr std::size_t grain = 1;
  TQ_FORCE_INLINE Constant(const Table<Arch>& t, std::size_t at, unsigned) noexcept
      : from_{t.scale, t.origin, at, one_entry},
        scale_(t.scale[at]),
        inverse_(t.inverse[at]),
        rest_(t.rest[at]),
        origin_(t.origin[at]) {}
  // A copy as memory, of pointers that were just written, would wait for them.
  TQ_FORCE_INLINE Constant(const Constant& c) noexcept
      : from_{c.from_.scale, c.from_.origin, c.from_.first, c.from_.shift},
        scale_(c.scale_),
        inverse_(c.inverse_),
        rest_(c.rest_),
        origin_(c.origin_) {}
  TQ_FORCE_INLINE const Floats& scale(std::size_t, std::size_t) const noexcept { return scale_; }
  TQ_FORCE_INLINE const Floats& inverse(std::size_t, std::size_t) const noexcept {
    return inverse_;
  }
  TQ_FORCE_INLINE const arch::ints<Arch>& origin(std::size_t, std::size_t) const noexcept {
    return origin_;
  }
  /// v * scale, v * inverse, v * rest, and v * inverse + w, rounded once.
  TQ_FORCE_INLINE Floats scaled(const Floats& v, std::size_t, std::size_t) const noexcept {
    return v * scale_;
  }
  TQ_FORCE_INLINE Floats divided(const Floats& v, std::size_t, std::size_t) const noexcept {
    return v * inverse_;
  }
  TQ_FORCE_INLINE Floats by_rest(const Floats& v, std::size_t, std::size_t) const noexcept {
    return v * rest_;
  }
  TQ_FORCE_INLINE Floats divided_plus(const Floats& v, const Floats& w, std::size_t,
                                      std::size_t) const noexcept {
    return arch::lanes<Arch>::fma(v, inverse_, w);
  }
  [[nodiscard]] Entries entries() const noexcept { return from_; }

 private:
  Entries from_;
  Floats scale_, inverse_, rest_;
  arch::ints<Arch> origin_;
};

namespace detail {
/// One parameter for all lanes of a register, from memory. `Self::entry(i, k)` says which.
template <class Arch, class Self>
class Broadcasting {
  using Floats = arch::floats<Arch>;
  using L = arch::lanes<Arch>;

 public:
  static constexpr bool has_reciprocals = true, per_lane = false;
  TQ_FORCE_INLINE Broadcasting(const Table<Arch>& t, std::size_t at) noexcept
      : scale_(t.scale + at),
        inverse_(t.inverse + at),
        rest_(t.rest + at),
        origin_(t.origin + at) {}
  TQ_FORCE_INLINE Floats scale(std::size_t i, std::size_t k) const noexcept {
    return Floats(scale_[entry(i, k)]);
  }
  TQ_FORCE_INLINE Floats inverse(std::size_t i, std::size_t k) const noexcept {
    return Floats(inverse_[entry(i, k)]);
  }
  TQ_FORCE_INLINE arch::ints<Arch> origin(std::size_t i, std::size_t k) const noexcept {
    return arch::ints<Arch>(origin_[entry(i, k)]);
  }
  TQ_FORCE_INLINE Floats scaled(const Floats& v, std::size_t i, std::size_t k) const noexcept {
    return times(v, scale_ + entry(i, k));
  }
  TQ_FORCE_INLINE Floats divided(const Floats& v, std::size_t i, std::size_t k) const noexcept {
    return times(v, inverse_ + entry(i, k));
  }
  TQ_FORCE_INLINE Floats by_rest(const Floats& v, std::size_t i, std::size_t k) const noexcept {
    return times(v, rest_ + entry(i, k));
  }
  TQ_FORCE_INLINE Floats divided_plus(const Floats& v, const Floats& w, std::size_t i,
                                      std::size_t k) const noexcept {
    const float* s = inverse_ + entry(i, k);
    if constexpr (requires { L::fma_by(v, s, w); }) return L::fma_by(v, s, w);
    else return L::fma(v, Floats(*s), w);
  }

 protected:
  const float *scale_, *inverse_, *rest_;
  const std::int32_t* origin_;

 private:
  TQ_FORCE_INLINE std::size_t entry(std::size_t i, std::size_t k) const noexcept {
    return static_cast<const Self&>(*this).entry(i, k);
  }
  // v times *s in all lanes, by an instruction that takes it from memory where there is one.
  static TQ_FORCE_INLINE Floats times(const Floats& v, const float* s) noexcept {
    if constexpr (requires { L::multiply_by(v, s); }) return L::multiply_by(v, s);
    else return v * Floats(*s);
  }
};
}  // namespace detail

/// One parameter a block.
template <class Arch>
class PerBlock : public detail::Broadcasting<Arch, PerBlock<Arch>> {
  using Base = detail::Broadcasting<Arch, PerBlock<Arch>>;

 public:
  static constexpr std::size_t grain = block<Arch>;
  TQ_FORCE_INLINE PerBlock(const Table<Arch>& t, std::size_t at, unsigned shift) noexcept
      : Base(t, at), shift_(shift) {}
  TQ_FORCE_INLINE std::size_t entry(std::size_t i, std::size_t) const noexcept {
    return i >> shift_;
  }
  [[nodiscard]] Entries entries() const noexcept {
    return {Base::scale_, Base::origin_, 0, shift_};
  }

 private:
  unsigned shift_;
};

/// One parameter for `Grain` elements, a part of a block: entry i / Grain.
template <class Arch, std::size_t Grain>
class PerGrain : public detail::Broadcasting<Arch, PerGrain<Arch, Grain>> {
  using Base = detail::Broadcasting<Arch, PerGrain<Arch, Grain>>;

 public:
  static constexpr std::size_t grain = Grain;
  TQ_FORCE_INLINE PerGrain(const Table<Arch>& t, std::size_t at, unsigned) noexcept : Base(t, at) {}
  TQ_FORCE_INLINE std::size_t entry(std::size_t i, std::size_t k) const noexcept {
    return i / Grain + k * arch::width<Arch> / Grain;
  }
  [[nodiscard]] Entries entries() const noexcept {
    return {Base::scale_, Base::origin_, 0, std::countr_zero(Grain)};
  }
};

/// One parameter an element: entry i.
template <class Arch>
class PerLane {
  using Floats = arch::floats<Arch>;

 public:
  static constexpr bool has_reciprocals = true, per_lane = true;
  static constexpr std::size_t grain = 1;
  TQ_FORCE_INLINE PerLane(const Table<Arch>& t, std::size_t at, unsigned) noexcept
      : scale_(t.scale + at),
        inverse_(t.inverse + at),
        rest_(t.rest + at),
        origin_(t.origin + at) {}
  TQ_FORCE_INLINE Floats scale(std::size_t i, std::size_t k) const noexcept {
    return Floats::load_unaligned(scale_ + i + k * arch::width<Arch>);
  }
  TQ_FORCE_INLINE Floats inverse(std::size_t i, std::size_t k) const noexcept {
    return Floats::load_unaligned(inverse_ + i + k * arch::width<Arch>);
  }
  TQ_FORCE_INLINE arch::ints<Arch> origin(std::size_t i, std::size_t k) const noexcept {
    return arch::ints<Arch>::load_unaligned(origin_ + i + k * arch::width<Arch>);
  }
  TQ_FORCE_INLINE Floats scaled(const Floats& v, std::size_t i, std::size_t k) const noexcept {
    return v * scale(i, k);
  }
  TQ_FORCE_INLINE Floats divided(const Floats& v, std::size_t i, std::size_t k) const noexcept {
    return v * inverse(i, k);
  }
  TQ_FORCE_INLINE Floats by_rest(const Floats& v, std::size_t i, std::size_t k) const noexcept {
    return v * Floats::load_unaligned(rest_ + i + k * arch::width<Arch>);
  }
  TQ_FORCE_INLINE Floats divided_plus(const Floats& v, const Floats& w, std::size_t i,
                                      std::size_t k) const noexcept {
    return arch::lanes<Arch>::fma(v, inverse(i, k), w);
  }
  [[nodiscard]] Entries entries() const noexcept { return {scale_, origin_, 0, 0}; }

 private:
  const float *scale_, *inverse_, *rest_;
  const std::int32_t* origin_;
};

/// The same for what is streamed: scales alone, as reciprocals beside them would displace from the
/// first cache what comes from memory, for which dividing is fast enough.
template <class Arch>
class PerLaneStreamed : public PerLane<Arch> {
 public:
  static constexpr bool has_reciprocals = false;
  using PerLane<Arch>::PerLane;
};

/// The cursor of what is streamed.
template <class P>
struct streamed {
  using type = P;
};
template <class Arch>
struct streamed<PerLane<Arch>> {
  using type = PerLaneStreamed<Arch>;
};

#endif

}  // namespace tq::driver
