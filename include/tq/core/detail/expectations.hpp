// SPDX-License-Identifier: MIT
#pragma once
// Checks of sizes and shapes that all rooms share. The comparison is inline, the text is not.

#include <tq/bodies.hpp>
#include <tq/core/shape.hpp>

#include <cstddef>

namespace tq::detail {

// Each throws `errc::shape_mismatch` unless `got` is as expected.

// "tq::quantize: expected bytes of codes of 64, got 63".
TQ_CORE_API void require_size(const char* function, const char* what, std::size_t expected,
                              std::size_t got);

// "tq::layouts::gptq::load: expected 64 words of qweight, got 63".
TQ_CORE_API void require_count(const char* function, const char* what, std::size_t expected,
                               std::size_t got);

// "tq::quantize: expected an output of shape [2, 3], got [3, 2]".
TQ_CORE_API void require_shape(const char* function, const char* what, const Shape& expected,
                               const Shape& got);

}  // namespace tq::detail

#ifndef TQ_KERNEL_LIBRARY
#include <tq/core/detail/expectations.ipp>
#endif
