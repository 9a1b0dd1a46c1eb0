// SPDX-License-Identifier: MIT
#pragma once
// kernel: a source, a stage and a sink, compiled here.

#include <tq/driver/kernel.hpp>
#include <tq/driver/known_parameters.hpp>
#include <tq/driver/loops.hpp>
#include <tq/driver/sweep.hpp>

namespace tq::driver {

namespace detail {
template <class Arch, class S, class T, class K, KnownParameters Known>
void sweep_through(const void* stage, const Operands& operands, const Span& span,
                   const Parameters& params, const Tuning& tuning) noexcept {
  sweep_by<Arch>({row_loops<Arch, S, T, K, Known>, stage}, operands, span, params, tuning);
}
template <class Arch, class S, class T, class K, KnownParameters Known>
inline constexpr Kernel compiled{S::bits, K::bits, &sweep_through<Arch, S, T, K, Known>};
}  // namespace detail

/// The kernel that reads by S, goes through T and writes by K, for parameters of which so much is
/// known.
template <class Arch, Source S, Stage T, Sink K, KnownParameters Known = KnownParameters{}>
inline constexpr KernelFor<T> kernel{detail::compiled<Arch, S, T, K, Known>};

/// The same, as a type that names no instruction set.
template <Source S, Stage T, Sink K>
struct Policies {
  using stage = T;
  static constexpr int source_bits = S::bits, sink_bits = K::bits;
  template <class Arch, KnownParameters Known>
  static constexpr KernelFor<T> kernel = driver::kernel<Arch, S, T, K, Known>;
};

}  // namespace tq::driver
