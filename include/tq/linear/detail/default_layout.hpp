// SPDX-License-Identifier: MIT
#pragma once
// default_layout: the order of packed weights that an instruction set multiplies fastest.

#include <tq/arch/byte_dot.hpp>
#include <tq/kernels/panel_layout.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/library_products.hpp>

namespace tq::detail {

template <class Arch>
[[nodiscard]] PanelLayout default_layout() noexcept {
  if constexpr (is_library<Arch>) return kernel_library::byte_products().layout;
  else return kernels::layout_of<arch::best_dot<Arch>>;
}

}  // namespace tq::detail
