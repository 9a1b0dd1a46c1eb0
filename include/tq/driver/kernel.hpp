// SPDX-License-Identifier: MIT
#pragma once
// Kernel: a source, a stage and a sink, compiled for an instruction set that is not in its type.

#include <tq/driver/operands.hpp>
#include <tq/driver/span.hpp>
#include <tq/driver/tuning.hpp>

#include <type_traits>

namespace tq::driver {

class BoundKernel;

/// A source, a stage and a sink without their types, with the sweep that was compiled for them.
class Kernel {
 public:
  /// Takes the elements of a span through the kernel, whose stage is made of `state`.
  using Sweep = void (*)(const void* state, const Operands& operands, const Span& span,
                         const Parameters& params, const Tuning& tuning) noexcept;

  constexpr Kernel(int bits_of_source, int bits_of_sink, Sweep sweep) noexcept
      : source_bits(bits_of_source), sink_bits(bits_of_sink), sweep_(sweep) {}

  int source_bits, sink_bits;  ///< of an element in memory; 0 where several share theirs

 private:
  friend void sweep(const BoundKernel&, const Operands&, const Span&, const Parameters&,
                    const Tuning&) noexcept;
  Sweep sweep_;
};

/// A kernel whose stage is made of a State: the stage itself, or an operation.
template <class State>
struct KernelFor {
  const Kernel& untyped;
};

/// A kernel with the numbers of its stage, which must outlive it.
class BoundKernel {
 public:
  template <class State>
  constexpr BoundKernel(KernelFor<State> of, const State& state) noexcept
      : kernel_(&of.untyped), state_(&state) {}
  /// A kernel whose stage has no numbers.
  template <class State>
    requires std::is_empty_v<State>
  constexpr BoundKernel(KernelFor<State> of) noexcept : kernel_(&of.untyped) {}

  [[nodiscard]] constexpr const Kernel& kernel() const noexcept { return *kernel_; }

 private:
  const Kernel* kernel_;
  const void* state_ = nullptr;

  friend void sweep(const BoundKernel&, const Operands&, const Span&, const Parameters&,
                    const Tuning&) noexcept;
};

template <class State>
[[nodiscard]] constexpr BoundKernel bind(KernelFor<State> kernel, const State& state) noexcept {
  return {kernel, state};
}

/// Takes the elements of a span through a kernel, with the parameters of each. Precondition: where
/// the target is packed, its rows are joined or begin on bytes, and so do groups where the source
/// is turned.
inline void sweep(const BoundKernel& bound, const Operands& operands, const Span& span,
                  const Parameters& params, const Tuning& tuning = this_machine()) noexcept {
  bound.kernel_->sweep_(bound.state_, operands, span, params, tuning);
}

/// The object behind the `state` of a `Kernel::Sweep`.
template <class State>
[[nodiscard]] State state_of(const void* state) noexcept {
  if constexpr (std::is_empty_v<State>) return {};
  else return *static_cast<const State*>(state);
}

}  // namespace tq::driver
