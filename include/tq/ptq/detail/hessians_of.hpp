// SPDX-License-Identifier: MIT
#pragma once
// hessians_of: a Hessian and a stack of them by the same members.

#include <tq/ptq/factor.hpp>
#include <tq/ptq/hessian_stack.hpp>
#include <tq/ptq/weighted_search.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tq::detail {

// The Hessian of a layer without groups, as a stack of one.
template <HessianMatrix H>
struct OneHessian {
  const H& h;

  [[nodiscard]] static constexpr std::size_t groups() noexcept { return 1; }
  [[nodiscard]] std::size_t inputs() const noexcept { return h.inputs(); }
  [[nodiscard]] std::uint64_t tokens() const noexcept { return h.tokens(); }
  [[nodiscard]] const H& operator[](std::size_t) const noexcept { return h; }
  [[nodiscard]] WeightedSearch search(double damping) const { return WeightedSearch(h, damping); }
};
// The Hessians of the groups of a layer.
template <HessianMatrix H>
struct GroupHessians {
  const HessianStack<H>& h;

  [[nodiscard]] std::size_t groups() const noexcept { return h.groups(); }
  [[nodiscard]] std::size_t inputs() const noexcept { return h.inputs(); }
  [[nodiscard]] std::uint64_t tokens() const noexcept { return h.tokens(); }
  [[nodiscard]] const H& operator[](std::size_t g) const noexcept { return h[g]; }
  [[nodiscard]] WeightedSearch search(double damping) const { return WeightedSearch(h, damping); }
};
template <HessianMatrix H>
[[nodiscard]] OneHessian<H> hessians_of(const H& h) noexcept {
  return {h};
}
template <HessianMatrix H>
[[nodiscard]] GroupHessians<H> hessians_of(const HessianStack<H>& h) noexcept {
  return {h};
}

/// A Hessian, or a stack of them.
template <class H>
concept AnyHessian = requires(const H& h) { hessians_of(h); };

}  // namespace tq::detail
