// SPDX-License-Identifier: MIT
#pragma once
// in_memory: errors of memory that name a tensor.

#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/store/stored_tensor.hpp>

#include <new>
#include <stdexcept>

namespace tq::store {

/// Throws: `errc::unsupported`: memory does not suffice for the tensor.
[[noreturn]] inline void out_of_memory(const StoredTensor& tensor) {
  tq::detail::raise_text(
      errc::unsupported,
      {"tensor ", io::shown(tensor.name), ": expected memory for ", to_string(tensor.dtype), " ",
       io::shape_text(tensor.shape), ", ", tensor.plain_bytes(),
       " bytes, and for what is made of it, got too little"});
}

/// Calls f(). Throws: as f; `out_of_memory` where memory runs out.
template <class F>
decltype(auto) in_memory(const StoredTensor& tensor, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    out_of_memory(tensor);
  } catch (const std::length_error&) {
    out_of_memory(tensor);
  }
}

}  // namespace tq::store
