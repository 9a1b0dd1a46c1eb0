// SPDX-License-Identifier: MIT
#pragma once
// A tensor of a file as its user sees it, and what the metadata of the file says of one that tq
// quantized.
//
// How a quantized tensor is stored is in stored_parts.hpp. The text pair "tq" of the metadata says
// the rest:
//   {"version": 2, "tensors": {"w": {"dtype": "F32", "shape": [64, 64], "spec": {"type": "int4",
//   ...}}}}
//
// Tensors of a few bytes, where there are thousands of them, share one tensor of bytes, so that the
// names of their parts do not take a hundred times their place: all parts of one, then all of the
// next, by name. The pair "tq" then has as well
//   "pool": {"tensor": "tq.pool", "kinds": [{"dtype": ..., "shape": ..., "spec": ...}],
//            "tensors": {"w": 0}}
// where a number says which kind a tensor is.

#include "schemes.hpp"
#include "stored_parts.hpp"

#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/error.hpp>
#include <tq/json/json.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tool {

inline constexpr const char* metadata_key = "tq";

// How tensors of one shape are stored in one scheme.
struct Encoding {
  tq::QuantSpec spec;
  tq::EncodedLayout layout;
  std::vector<StoredPart> parts;
};
// Throws: as layout_of.
[[nodiscard]] std::shared_ptr<const Encoding> encoding_of(const tq::QuantSpec& spec,
                                                          const std::vector<std::size_t>& shape,
                                                          int version = layout_version);

struct StoredTensor {
  std::string name;
  tq::io::DType dtype = tq::io::DType::f32;  // as it was before it was quantized
  std::vector<std::size_t> shape;
  // One of these: what the file says of a tensor that is as it was; how tq quantized it; what
  // another program made of it.
  const tq::io::TensorInfo* plain = nullptr;
  std::shared_ptr<const Encoding> encoding;
  std::shared_ptr<const tq::io::CheckpointWeight> foreign;
  std::string left_alone;                    // why it is no weight, although it may look like one
  bool is_unreadable = false;                // part of a weight that cannot be read
  std::uint64_t bytes = 0;                   // in the file, scales and zero points included
  const tq::io::TensorInfo* pool = nullptr;  // the tensor of bytes that its parts are in, or null
  std::uint64_t pooled = 0;                  // and where they begin

  [[nodiscard]] std::uint64_t elements() const { return *tq::io::element_count(shape); }
  // What it takes as `dtype`.
  [[nodiscard]] std::uint64_t plain_bytes() const { return *tq::io::storage_bytes(dtype, shape); }
};

// Why a tensor is not to be quantized, or empty; weights that another program quantized are only
// with `requantize`.
[[nodiscard]] std::string no_weight(const StoredTensor& tensor, bool requantize);

// Why a tensor is left as it is unless it is asked for, or empty: "1-D" of one that is less than a
// matrix, "kind head" of a kind that configurations leave in float.
[[nodiscard]] std::string too_few_axes(const StoredTensor& tensor);
[[nodiscard]] std::string kept_kind(const StoredTensor& tensor);

// What the metadata says of a tensor that is quantized.
struct Described {
  const StoredTensor* tensor;
  const Encoding* encoding;
  bool is_pooled;
};

// The value of the metadata pair "tq". Tensors in a pool come in the order of their names.
[[nodiscard]] std::string metadata_text(const std::vector<Described>& tensors,
                                        const std::string& pool);

// What such metadata says of one tensor, or of one kind of those in a pool. Throws: tq::error.
[[nodiscard]] StoredTensor described_tensor(const tq::io::Json& entry, const std::string& path,
                                            int version);

[[nodiscard]] tq::Shape to_shape(const std::vector<std::size_t>& extents);
[[nodiscard]] std::vector<std::size_t> to_extents(const tq::Shape& shape);

// Calls f(); an error that leaves it names the tensor.
template <class F>
decltype(auto) naming(const std::string& tensor, F&& f) {
  try {
    return f();
  } catch (const tq::error& e) {
    throw tq::error(e.code(), "tensor " + tq::io::detail::shown(tensor) + ": " + e.what());
  }
}

}  // namespace tool
