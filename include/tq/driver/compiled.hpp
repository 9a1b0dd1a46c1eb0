// SPDX-License-Identifier: MIT
#pragma once
// kernel: a source, a stage and a sink, compiled here.

#include <tq/driver/kernel.hpp>
#include <tq/driver/loops.hpp>
#include <tq/driver/sweep.hpp>

namespace tq::driver {

namespace detail {
template <class Arch, class S, class T, class K>
void sweep_through(const void* stage, const Operands& operands, const Span& span,
                   const Parameters& params, const Tuning& tuning) noexcept {
  sweep_by<Arch>({row_loops<Arch, S, T, K>, stage}, operands, span, params, tuning);
}
template <class Arch, class S, class T, class K>
inline constexpr Kernel compiled{S::bits, K::bits, &sweep_through<Arch, S, T, K>};
}  // namespace detail

/// The kernel that reads by S, goes through T and writes by K.
template <class Arch, Source S, Stage T, Sink K>
inline constexpr KernelFor<T> kernel{detail::compiled<Arch, S, T, K>};

}  // namespace tq::driver
