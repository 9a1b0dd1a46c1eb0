// SPDX-License-Identifier: MIT
#pragma once
// Tuning: what loops do for a processor's sake, as numbers that are passed to them.

#include <tq/arch/cpu.hpp>

#include <cstddef>

namespace tq::driver {

/// No number changes a result. Nothing else in a sweep knows which processor runs it.
struct Tuning {
  std::size_t stream_from = std::size_t{32}
                            << 20;  ///< bytes, read and written, above which the cache is passed by
  std::ptrdiff_t lines_ahead =
      0;  ///< bytes ahead that lines of the source are asked for; 0: not at all
  std::ptrdiff_t pages_ahead =
      0;  ///< pages ahead that pages of the source are asked for; 0: not at all
  std::ptrdiff_t written_pages_ahead = 0;  ///< the same of the target
  /// The same of float weights that a product only reads; 0: their lines are asked for instead.
  std::ptrdiff_t weight_pages_ahead = 0;
};

/// The tuning for this machine; unknown processors prefetch nothing. Lines are prefetched a page
/// and a half and a line ahead, as multiples of 2 KiB are bad distances.
inline Tuning tuning_for_processor() noexcept {
  constexpr std::ptrdiff_t lines = 6208;
  Tuning t;
  t.stream_from = arch::last_level_cache();
  switch (arch::processor()) {
    case arch::Processor::zen3: t.lines_ahead = lines, t.written_pages_ahead = 16; break;
    case arch::Processor::zen4:
      t.pages_ahead = t.written_pages_ahead = t.weight_pages_ahead = 16;
      break;
    case arch::Processor::zen5: t.lines_ahead = lines, t.pages_ahead = 16; break;
    case arch::Processor::intel: t.pages_ahead = 8; break;
    case arch::Processor::other: break;
  }
  return t;
}

/// The tuning of this machine, made once.
inline const Tuning& this_machine() noexcept {
  static const Tuning tuning = tuning_for_processor();
  return tuning;
}

}  // namespace tq::driver
