// SPDX-License-Identifier: MIT
#pragma once
// What kernels are called with: raw pointers and plain numbers.

#include <tq/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// `count` stretches of `length` elements, see tq::Run. `scale` (and `zero_point`, which may be null) point
/// to the parameter of the first element; stretch r starts `r * param_stride` parameters further, and
/// inside a stretch every element advances the parameter by `step`, 0 or 1.
struct Span {
  std::size_t length = 0, count = 0;
  std::ptrdiff_t source_stride = 0, target_stride = 0;
  const float* scale = nullptr;
  const std::int32_t* zero_point = nullptr;
  std::size_t param_stride = 0, step = 0;
};

/// The codes in use, both ends included.
struct Codes {
  std::int32_t min, max;
};

}  // namespace tq::kernels
