// SPDX-License-Identifier: MIT
#pragma once
// erased: a format as one that is known at run time.

#include <tq/bodies.hpp>
#include <tq/checkpoints/writable_format.hpp>

#include <memory>

namespace tq::store::detail {

class AnyFormat;

template <io::WritableFormat F>
[[nodiscard]] TQ_API std::shared_ptr<const AnyFormat> erased(const F& format);

}  // namespace tq::store::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/store/detail/erased_format.ipp>
#endif
