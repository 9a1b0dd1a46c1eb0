// SPDX-License-Identifier: MIT
#pragma once
// The questions of overloads for calls that are mistakes. Such an overload takes the call that no
// other one takes, and its body says in a static assertion which argument was expected. Compilers
// print the name of the variable template that is false, with the types of the call in it.

#include <tq/core/readable.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace tq::detail {

template <class X>
inline constexpr bool is_real_tensor = Readable<X>;

// True for a tensor of a code each, and for packed bytes.
template <class Out, class Params>
inline constexpr bool takes_codes =
    OutputOf<Out, typename Params::code_type> || std::convertible_to<Out, std::span<std::byte>>;

// The result of a call that does not compile: a declaration, so that no further error follows.
template <class Result>
[[nodiscard]] Result no_result();

}  // namespace tq::detail
