// SPDX-License-Identifier: MIT
#pragma once
// The text pair "tq" of the metadata, which describes the quantized tensors of a file:
//   {"version": 2, "tensors": {"w": {"dtype": "F32", "shape": [64, 64], "spec": {"type": "int4",
//   ...}}}}
//
// Thousands of tensors of a few bytes share one tensor of bytes, because the names of their parts
// would take a hundred times their place: all parts of a tensor, then all parts of the next, by
// name. The pair "tq" then has as well
//   "pool": {"tensor": "tq.pool", "kinds": [{"dtype": ..., "shape": ..., "spec": ...}],
//            "tensors": {"w": 0}}
// where a number says which kind a tensor is.

#include <tq/bodies.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/stored_tensor.hpp>

#include <string>
#include <vector>

namespace tq::store {

/// The key of the text pair.
inline constexpr const char* metadata_key = "tq";

/// A quantized tensor that the metadata describe.
struct Described {
  const StoredTensor* tensor;
  const Encoding* encoding;
  bool is_pooled;
};

namespace detail {

[[nodiscard]] TQ_API io::Json description(const Described& d);

}  // namespace detail

/// The value of the text pair. Tensors in a pool come in the order of their names; those of one
/// kind share an `Encoding`.
[[nodiscard]] TQ_API std::string metadata_text(const std::vector<Described>& tensors,
                                               const std::string& pool);

/// The tensor, or the kind of tensors in a pool, that an entry of the metadata describes. Throws:
/// `errc::malformed`, naming the field; as `io::spec_from_json` and `encoding_of`.
[[nodiscard]] TQ_API StoredTensor described_tensor(const io::Json& entry, const std::string& path,
                                                   int version);

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/description.ipp>
#endif
