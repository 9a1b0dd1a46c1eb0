// SPDX-License-Identifier: MIT
#pragma once
// The pool: one tensor of bytes for thousands of tensors of a few bytes, because the names of their
// parts would take more place than they do.

#include <tq/store/stored_tensor.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace tq::store {

/// Tensors of fewer bytes go into the pool of a file ...
inline constexpr std::size_t pool_below_bytes = 64;
/// ... that has at least this number of them.
inline constexpr std::size_t pool_from_tensors = 4096;

/// True for a tensor that a pool may hold. A cast stays a tensor that any reader understands.
[[nodiscard]] inline bool may_be_pooled(const Encoding& encoding) noexcept {
  return encoding.layout.stored.bits != 0 && encoding.layout.bytes() < pool_below_bytes;
}

/// A name of the pool for which is_taken(name) is false.
template <class IsTaken>
[[nodiscard]] std::string free_pool_name(std::string name, IsTaken&& is_taken) {
  while (is_taken(std::as_const(name))) name += '_';
  return name;
}

}  // namespace tq::store
