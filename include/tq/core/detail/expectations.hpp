// SPDX-License-Identifier: MIT
#pragma once
// Checks of sizes and shapes that all rooms share. The comparison is inline, the text is not.

#include <tq/core/shape.hpp>
#include <tq/error.hpp>

#include <cstddef>

namespace tq::detail {

// Each throws `errc::shape_mismatch` unless `got` is as expected.

// "tq::quantize: expected bytes of codes of 64, got 63".
inline void require_size(const char* function, const char* what, std::size_t expected,
                         std::size_t got) {
  if (expected != got)
    raise_expected(errc::shape_mismatch, function, {what, " of ", expected}, {got});
}

// "tq::layouts::gptq::load: expected 64 words of qweight, got 63".
inline void require_count(const char* function, const char* what, std::size_t expected,
                          std::size_t got) {
  if (expected != got) raise_expected(errc::shape_mismatch, function, {expected, " ", what}, {got});
}

// "tq::quantize: expected an output of shape [2, 3], got [3, 2]".
inline void require_shape(const char* function, const char* what, const Shape& expected,
                          const Shape& got) {
  if (!(expected == got))
    raise_expected(errc::shape_mismatch, function, {what, " of shape ", expected.extents()},
                   {got.extents()});
}

}  // namespace tq::detail
