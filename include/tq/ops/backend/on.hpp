// SPDX-License-Identifier: MIT
#pragma once
// on: the backend of an operation, as an option.

#include <tq/core/options.hpp>
#include <tq/ops/backend/backend.hpp>

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
// The backend of a call with the options `Set`, a `Chosen`.
template <class Set>
using backend_of =
    typename Set::template type<OptionKind::backend, On<default_backend>>::backend_type;
}  // namespace detail

}  // namespace tq
