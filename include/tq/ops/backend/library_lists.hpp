// SPDX-License-Identifier: MIT
#pragma once
// The operations of the kernel library as lists. Only the files that tq_add_kernels makes include
// it.

#include <tq/core/element_lists.hpp>
#include <tq/ops/backend/library.hpp>
#include <tq/ops/backend/library_operations.hpp>

#include <cstddef>
#include <tuple>

namespace tq::kernel_library {

namespace detail {
template <class Chosen, template <class...> class F, class... Lists>
struct expanded_product;
template <class... Cs, template <class...> class F>
struct expanded_product<TypeList<Cs...>, F> {
  using type = TypeList<F<Cs...>>;
};
template <class... Cs, template <class...> class F, class... Ts, class... Rest>
struct expanded_product<TypeList<Cs...>, F, TypeList<Ts...>, Rest...> {
  using type = Joined<typename expanded_product<TypeList<Cs..., Ts>, F, Rest...>::type...>;
};
template <class List>
struct expanded {
  using type = List;
};
template <template <class...> class F, class... Lists>
struct expanded<library_operations::product<F, Lists...>>
    : expanded_product<TypeList<>, F, Lists...> {};
template <class... Ps>
struct expanded<library_operations::All<Ps...>> {
  using type = Joined<typename expanded<Ps>::type...>;
};

template <class Groups>
struct lists_of;
template <class... Gs>
struct lists_of<TypeList<Gs...>> {
  static constexpr std::size_t count = sizeof...(Gs);
  template <std::size_t I>
  using at = typename expanded<typename std::tuple_element_t<I, std::tuple<Gs...>>::list>::type;
};
}  // namespace detail

/// The operations of group I, as a list.
template <std::size_t I>
using Operations = detail::lists_of<library_operations::groups>::at<I>;

/// The kernel of an operation for an instruction set, which is a type of the library's.
template <class Isa, class Operation>
[[nodiscard]] const driver::Kernel& kernel_for() noexcept;

/// Instantiates `kernel_for` for the operations of a list. A linker that leaves out sections leaves
/// this out, and with it what no program calls.
template <class List>
struct Kernels;
template <class... Os>
struct Kernels<TypeList<Os...>> {
  KernelFunction of_isa[sizeof...(Os)];
  template <class Isa>
  [[nodiscard]] static constexpr Kernels of() noexcept {
    return {{&kernel_for<Isa, Os>...}};
  }
};

/// Instantiates `kernels` for the operations of a list.
template <class List>
struct Dispatch;
template <class... Os>
struct Dispatch<TypeList<Os...>> {
  const KernelFunction* (*of[sizeof...(Os)])() noexcept;
  [[nodiscard]] static constexpr Dispatch all() noexcept { return {{&kernels<Os>...}}; }
};

}  // namespace tq::kernel_library
