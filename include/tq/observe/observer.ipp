// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/observe/observer.hpp.

#include <tq/error.hpp>
#include <tq/observe/observer.hpp>

namespace tq::detail {

TQ_CORE_API std::string where_of(const char* function, const std::string& name) {
  return std::string("tq::Observer::") + function + (name.empty() ? "" : ": tensor '" + name + "'");
}

TQ_CORE_API void refuse_batch(const std::string& name, std::uint64_t last) {
  raise_expected(errc::bad_argument, where_of("observe", name), {"batches of numbers below 2^64"},
                 {"another after number ", last});
}

TQ_CORE_API void refuse_slots(const std::string& name, std::size_t before, std::size_t now,
                              std::string_view granularity, const Shape& shape) {
  raise_expected(errc::shape_mismatch, where_of("observe", name),
                 {"a tensor with ", before, " slots as before"},
                 {now, " (", granularity, " over shape ", shape.extents(), ")"});
}

}  // namespace tq::detail
