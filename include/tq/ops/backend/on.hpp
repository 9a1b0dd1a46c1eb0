// SPDX-License-Identifier: MIT
#pragma once
// on: the backend of an operation, as an option.

#include <tq/core/options.hpp>
#include <tq/ops/backend/backend.hpp>

#include <tuple>
#include <utility>

namespace tq {

/// An option: the operation runs the kernels of `B`.
template <Backend B>
struct On {
  using backend_type = B;
};

/// The option as a value: `quantize(x, params, tq::on<backend::library>)`.
template <Backend B>
inline constexpr On<B> on{};

namespace detail {
// The backend among the options of a call, or the default one. It is the last parameter of every
// template that takes options, behind their pack, where nobody can name it: so the instruction set
// is in the name of what is compiled for it.
template <class... O>
using backend_among = typename decltype(chosen_of(std::tuple_cat(
    opened(std::declval<const O&>())...)))::template type<OptionKind::backend,
                                                          On<default_backend>>::backend_type;
}  // namespace detail

}  // namespace tq
