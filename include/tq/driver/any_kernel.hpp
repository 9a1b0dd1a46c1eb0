// SPDX-License-Identifier: MIT
#pragma once
// AnyKernel: a kernel as those see it who know no instruction set.

#include <tq/driver/operands.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/tuning.hpp>

namespace tq::driver {

/// A kernel compiled for an instruction set that is not in its type, together with the sweep.
struct AnyKernel {
  /// Takes the elements of a span through the kernel. `operation` says what is done to them: an
  /// object of the type that the kernel was made for. The stage of the operands is not read.
  using Sweep = void (*)(const void* operation, const Operands& operands, const Span& span,
                         const Parameters& params, const Tuning& tuning) noexcept;

  int source_bits, sink_bits;  ///< of an element in memory; 0 where several share theirs
  bool packs;                  ///< elements of the target share bytes
  Sweep sweep;
};

}  // namespace tq::driver
