// SPDX-License-Identifier: MIT
#pragma once
// Cursors: from a table to the registers of the block at element i of a row, one for each form of
// parameters.

#include <tq/driver/table.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

#if TQ_HAS_SIMD

namespace tq::driver {

/// A cursor gives the parameters of register k of the block at element i. It is made of a table,
/// the entry where a row begins, and a shift: that of blocks is entry i >> shift. Blocks may begin
/// at multiples of `grain`. Smallest model:
///     template <class Arch>
///     struct Halves {  // every scale is 0.5, and no element has an offset
///       static constexpr std::size_t grain = 1;
///       Halves(const Table<Arch>&, std::size_t, unsigned) {}
///       arch::floats<Arch> scaled(const arch::floats<Arch>& v, std::size_t, std::size_t) const {
///       return v * 0.5f; } arch::ints<Arch> offset(std::size_t, std::size_t) const { return 0; }
///     };

namespace detail {
// v times *s in all lanes, by an instruction that takes it from memory where there is one.
template <class Arch>
TQ_FORCE_INLINE arch::floats<Arch> times(const arch::floats<Arch>& v, const float* s) noexcept {
  if constexpr (requires { arch::lanes<Arch>::multiply_by(v, s); })
    return arch::lanes<Arch>::multiply_by(v, s);
  else return v * arch::floats<Arch>(*s);
}
}  // namespace detail

/// One parameter, in registers.
template <class Arch>
class Constant {
 public:
  static constexpr std::size_t grain = 1;
  TQ_FORCE_INLINE Constant(const Table<Arch>& t, std::size_t at, unsigned) noexcept
      : scale_(t.scale[at]), offset_(t.offset[at]) {}
  TQ_FORCE_INLINE arch::floats<Arch> scaled(const arch::floats<Arch>& v, std::size_t,
                                            std::size_t) const noexcept {
    return v * scale_;
  }
  TQ_FORCE_INLINE const arch::ints<Arch>& offset(std::size_t, std::size_t) const noexcept {
    return offset_;
  }

 private:
  arch::floats<Arch> scale_;
  arch::ints<Arch> offset_;
};

/// One parameter a block.
template <class Arch>
class PerBlock {
 public:
  static constexpr std::size_t grain = block<Arch>;
  TQ_FORCE_INLINE PerBlock(const Table<Arch>& t, std::size_t at, unsigned shift) noexcept
      : scale_(t.scale + at), offset_(t.offset + at), shift_(shift) {}
  TQ_FORCE_INLINE arch::floats<Arch> scaled(const arch::floats<Arch>& v, std::size_t i,
                                            std::size_t) const noexcept {
    return detail::times<Arch>(v, scale_ + (i >> shift_));
  }
  TQ_FORCE_INLINE arch::ints<Arch> offset(std::size_t i, std::size_t) const noexcept {
    return arch::ints<Arch>(offset_[i >> shift_]);
  }

 private:
  const float* scale_;
  const std::int32_t* offset_;
  unsigned shift_;
};

/// One parameter for `Grain` elements, a part of a block: entry i / Grain.
template <class Arch, std::size_t Grain>
class PerGrain {
 public:
  static constexpr std::size_t grain = Grain;
  TQ_FORCE_INLINE PerGrain(const Table<Arch>& t, std::size_t at, unsigned) noexcept
      : scale_(t.scale + at), offset_(t.offset + at) {}
  TQ_FORCE_INLINE arch::floats<Arch> scaled(const arch::floats<Arch>& v, std::size_t i,
                                            std::size_t k) const noexcept {
    return detail::times<Arch>(v, scale_ + i / Grain + entry(k));
  }
  TQ_FORCE_INLINE arch::ints<Arch> offset(std::size_t i, std::size_t k) const noexcept {
    return arch::ints<Arch>(offset_[i / Grain + entry(k)]);
  }

 private:
  static TQ_FORCE_INLINE std::size_t entry(std::size_t k) noexcept {
    return k * arch::width<Arch> / Grain;
  }
  const float* scale_;
  const std::int32_t* offset_;
};

/// One parameter an element: entry i.
template <class Arch>
class PerLane {
 public:
  static constexpr std::size_t grain = 1;
  TQ_FORCE_INLINE PerLane(const Table<Arch>& t, std::size_t at, unsigned) noexcept
      : scale_(t.scale + at), offset_(t.offset + at) {}
  TQ_FORCE_INLINE arch::floats<Arch> scaled(const arch::floats<Arch>& v, std::size_t i,
                                            std::size_t k) const noexcept {
    return v * arch::floats<Arch>::load_unaligned(scale_ + i + k * arch::width<Arch>);
  }
  TQ_FORCE_INLINE arch::ints<Arch> offset(std::size_t i, std::size_t k) const noexcept {
    return arch::ints<Arch>::load_unaligned(offset_ + i + k * arch::width<Arch>);
  }

 private:
  const float* scale_;
  const std::int32_t* offset_;
};

}  // namespace tq::driver

#endif
