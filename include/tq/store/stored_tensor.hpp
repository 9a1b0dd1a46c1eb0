// SPDX-License-Identifier: MIT
#pragma once
// A tensor of a file as its user sees it: under its own name and shape, however it is stored.

#include <tq/bodies.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/shape.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/weight_axes.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/store/stored_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tq {

namespace store {

/// How tensors of one shape are stored in one scheme.
struct Encoding {
  QuantSpec spec;
  EncodedLayout layout;
  std::vector<StoredPart> parts;
};

/// The extents as a `Shape`. Throws: `errc::rank_too_large`.
[[nodiscard]] TQ_API Shape to_shape(const std::vector<std::size_t>& extents);
[[nodiscard]] TQ_API std::vector<std::size_t> to_extents(const Shape& shape);

/// The encoding of tensors of that shape. Throws: as `encoded_layout`.
[[nodiscard]] TQ_API std::shared_ptr<const Encoding> encoding_of(
    const QuantSpec& spec, const std::vector<std::size_t>& shape, int version = layout_version);

/// True for the types of tensors that hold weights: floats of 8 bits and more.
[[nodiscard]] constexpr bool is_quantizable(io::DType dtype) noexcept {
  using enum io::DType;
  return dtype == f16 || dtype == bf16 || dtype == f32 || dtype == f64 || dtype == f8_e4m3 ||
         dtype == f8_e5m2 || dtype == f8_e4m3fnuz || dtype == f8_e5m2fnuz;
}

}  // namespace store

/// A tensor of a model file, before its data are read. Exactly one of `plain`, `encoding` and
/// `foreign` is set.
struct StoredTensor {
  std::string name;
  io::DType dtype = io::DType::f32;  ///< the type it had before it was quantized
  std::vector<std::size_t> shape;
  NodeKind kind = NodeKind::other;                      ///< of node, as its name and shape suggest
  WeightAxes axes = WeightAxes::outputs_first;          ///< as name, shape and model suggest
  const io::TensorInfo* plain = nullptr;                ///< its entry, if it is not quantized
  std::shared_ptr<const store::Encoding> encoding;      ///< how tq quantized it
  std::shared_ptr<const io::CheckpointWeight> foreign;  ///< how another program quantized it
  std::string blocks;                    ///< the type of its blocks in a GGUF file ("q4_K")
  std::string left_alone;                ///< why it is no weight, although it may look like one
  bool is_unreadable = false;            ///< part of a weight that cannot be read
  bool is_of_activations = false;        ///< a scale of activations beside a quantized weight
  std::uint64_t bytes = 0;               ///< in the file, scales and zero points included
  const io::TensorInfo* pool = nullptr;  ///< the tensor of bytes that its parts are in, or null
  std::uint64_t pooled = 0;              ///< where in the pool they begin

  /// True for an expert of a stack but the first, whose parts are those of the first.
  [[nodiscard]] bool shares_parts() const noexcept { return foreign && foreign->expert != 0; }
  [[nodiscard]] std::uint64_t elements() const { return *io::element_count(shape); }
  /// Bytes of its elements as `dtype`.
  [[nodiscard]] std::uint64_t plain_bytes() const { return *io::storage_bytes(dtype, shape); }
  /// The scheme that tq quantized it in, or null.
  [[nodiscard]] TQ_API const QuantSpec* spec() const noexcept;
  /// The scheme for messages and tables: "int4 per_group(32, axis -1) symmetric", the scheme of
  /// another program, or the type of a tensor that is not quantized ("F32").
  [[nodiscard]] TQ_API std::string scheme() const;
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/stored_tensor.ipp>
#endif
