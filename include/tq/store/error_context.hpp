// SPDX-License-Identifier: MIT
#pragma once
// The words in front of an error text: the file, the tensor.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>

#include <string_view>
#include <utility>

namespace tq::store {

namespace detail {

// Calls f(); an error that leaves it begins with before().
template <class Before, class F>
decltype(auto) in_context(Before&& before, F&& f) {
#if TQ_HAS_EXCEPTIONS
  try {
    return std::forward<F>(f)();
  } catch (const error& e) {
    tq::detail::raise_text(e.code(), {before(), ": ", e.what()});
  }
#else
  static_cast<void>(before);
  return std::forward<F>(f)();
#endif
}

}  // namespace detail

/// Calls f(); an error that leaves it names the tensor.
template <class F>
decltype(auto) naming(std::string_view tensor, F&& f) {
  return detail::in_context([&] { return "tensor " + io::shown(tensor); }, std::forward<F>(f));
}

}  // namespace tq::store
