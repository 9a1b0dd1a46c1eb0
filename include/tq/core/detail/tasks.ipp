// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/core/detail/tasks.hpp.

#include <tq/core/detail/tasks.hpp>

namespace tq::detail {

TQ_CORE_API RunList::RunList(const Shape& shape, const Shape& block, const Strides& source,
                             const Strides& target) {
  for_each_run(shape, block, source, target, [&](const Run& r) {
    runs_.push_back(r);
    begins_.push_back(size_);
    size_ += r.size();
  });
}

}  // namespace tq::detail
