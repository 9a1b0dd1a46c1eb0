// SPDX-License-Identifier: MIT
#pragma once
// Kernels whose codes are packed, of a width that is known at run time only.

#include <tq/driver/bits.hpp>
#include <tq/driver/kernel.hpp>
#include <tq/driver/operands.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/tuning.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/detail/encoded_codes.hpp>
#include <tq/scheme/encoded_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tq::detail {

// A kernel whose codes have a byte each, and how they are packed.
struct PackedCodes {
  driver::BoundKernel kernel;
  const EncodedLayout& layout;
};

// A sweep through the kernel of `PackedCodes`, whose codes stay in the cache until they are packed.
// Preconditions: those of a packed target, whose neighbours lie side by side.
template <Backend B>
class PackedSweep {
 public:
  PackedSweep(const PackedCodes& to, const driver::Operands& operands, const driver::Span& span,
              const driver::Parameters& params, const driver::Tuning& tuning) noexcept
      : to_(to), operands_(operands), span_(span), params_(params), tuning_(tuning) {}

  // Tiles of whole rows, or of parts of one.
  void run() noexcept {
    if (span_.length == 0) return;
    const std::size_t rows = std::max<std::size_t>(capacity / span_.length, 1);
    for (std::size_t r = 0; r < span_.count; r += rows)
      for (std::size_t i = 0; i < span_.length; i += capacity)
        tile(r, i, std::min(rows, span_.count - r), std::min(capacity, span_.length - i));
  }

 private:
  static constexpr std::size_t capacity = 8192;  // a multiple of 8, so that tiles begin on bytes

  // `rows` rows of n elements, from element i of row r on.
  void tile(std::size_t r, std::size_t i, std::size_t rows, std::size_t n) noexcept {
    const auto row = static_cast<std::ptrdiff_t>(r), column = static_cast<std::ptrdiff_t>(i);
    const std::ptrdiff_t at = row * span_.target_stride + column;
    driver::Operands own = operands_;
    own.first += row * span_.source_stride + column * span_.source_step;
    own.target = codes_;
    own.draw_index += static_cast<std::uint64_t>(at);
    own.streams = false;
    const auto length = static_cast<std::ptrdiff_t>(n);
    by_groups(r, i, own, {n, rows, span_.source_stride, length, span_.source_step, 1});
    std::byte* const out =
        static_cast<std::byte*>(operands_.target) + driver::bytes_to(at, to_.layout.bits);
    if (rows == 1 || span_.target_stride == length) return pack(0, rows * n, out);
    for (std::size_t k = 0; k < rows; ++k)
      pack(k * n, n,
           out + driver::bytes_to(static_cast<std::ptrdiff_t>(k) * span_.target_stride,
                                  to_.layout.bits));
  }

  // The codes of a tile, which may begin within a group: what is left of that one comes first.
  void by_groups(std::size_t r, std::size_t i, driver::Operands own, driver::Span tile) noexcept {
    driver::Parameters p = params_;
    p.first += r * p.row_step + i / p.group * p.step;
    const std::size_t begun = i % p.group;
    if (begun != 0) {
      driver::Span rest = tile;
      rest.length = std::min(p.group - begun, tile.length);
      p.group = driver::whole_row;
      driver::sweep(to_.kernel, own, rest, p, tuning_);
      if (rest.length == tile.length) return;
      const auto done = static_cast<std::ptrdiff_t>(rest.length);
      own.first += done * tile.source_step;
      own.target = static_cast<std::byte*>(own.target) + done;
      own.draw_index += rest.length;
      tile.length -= rest.length;
      p.group = params_.group;
      p.first += p.step;
    }
    driver::sweep(to_.kernel, own, tile, p, tuning_);
  }

  void pack(std::size_t first, std::size_t n, std::byte* out) noexcept {
    pack_codes<B>({codes_ + first, n},
                  {out, (n * static_cast<std::size_t>(to_.layout.bits) + 7) / 8}, to_.layout);
  }

  const PackedCodes& to_;
  const driver::Operands& operands_;
  const driver::Span& span_;
  const driver::Parameters& params_;
  const driver::Tuning& tuning_;
  alignas(64) std::byte codes_[capacity];
};

// Kernel that runs a `PackedSweep`; it is bound to `PackedCodes`.
template <Backend B>
[[nodiscard]] driver::Kernel packing_kernel(const PackedCodes& to) noexcept {
  return {to.kernel.kernel().source_bits, to.layout.bits,
          [](const void* state, const driver::Operands& operands, const driver::Span& span,
             const driver::Parameters& params, const driver::Tuning& tuning) noexcept {
            PackedSweep<B>(*static_cast<const PackedCodes*>(state), operands, span, params, tuning)
                .run();
          }};
}

}  // namespace tq::detail
