// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/ops/detail/checks.hpp.

#include <tq/ops/detail/checks.hpp>

namespace tq::detail {

TQ_CORE_API void refuse_nan(const char* function, std::uint64_t found, const Shape& shape) {
  if (found != 0)
    raise_expected(errc::not_finite, function, {"no NaN (RaiseNan)"},
                   {found, " in a tensor of shape ", shape.extents()});
}

#ifdef TQ_KERNEL_LIBRARY
template void shape_as(const char*, const char*, TensorView<float>&, const Shape&);
template void shape_as(const char*, const char*, TensorView<const float>&, const Shape&);
template void shape_as(const char*, const char*, TensorView<std::uint8_t>&, const Shape&);
template void shape_as(const char*, const char*, TensorView<std::int8_t>&, const Shape&);
template void shape_as(const char*, const char*, TensorView<const std::uint8_t>&, const Shape&);
template void shape_as(const char*, const char*, TensorView<const std::int8_t>&, const Shape&);
#endif

}  // namespace tq::detail
