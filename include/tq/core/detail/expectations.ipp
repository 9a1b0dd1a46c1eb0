// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/core/detail/expectations.hpp.

#include <tq/core/detail/expectations.hpp>
#include <tq/error.hpp>

namespace tq::detail {

TQ_CORE_API void require_size(const char* function, const char* what, std::size_t expected,
                              std::size_t got) {
  if (expected != got)
    raise_expected(errc::shape_mismatch, function, {what, " of ", expected}, {got});
}

TQ_CORE_API void require_count(const char* function, const char* what, std::size_t expected,
                               std::size_t got) {
  if (expected != got) raise_expected(errc::shape_mismatch, function, {expected, " ", what}, {got});
}

TQ_CORE_API void require_shape(const char* function, const char* what, const Shape& expected,
                               const Shape& got) {
  if (!(expected == got))
    raise_expected(errc::shape_mismatch, function, {what, " of shape ", expected.extents()},
                   {got.extents()});
}

}  // namespace tq::detail
