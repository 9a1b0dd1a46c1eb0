// SPDX-License-Identifier: MIT
#pragma once
// CheckpointParts: the tensors of one quantized weight, read by their roles.

#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/buffer.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace tq::io {

/// A weight that `find_quantized` found, with its tensors, each of which is read on demand.
template <Backend B = default_backend>
class CheckpointParts {
 public:
  /// Both must outlive it.
  CheckpointParts(const CheckpointWeight& weight, const ReadTensor& read)
      : weight_(weight), read_(read) {}

  [[nodiscard]] const CheckpointWeight& weight() const noexcept { return weight_; }
  [[nodiscard]] bool has(const char* role) const { return weight_.parts.contains(role); }
  /// A part as it is stored, of a stack that of the one expert. Throws: `errc::bad_argument` where
  /// there is none; what `read` throws.
  [[nodiscard]] Tensor tensor(const char* role) const {
    const auto found = weight_.parts.find(role);
    if (found == weight_.parts.end())
      tq::detail::raise_text(errc::bad_argument,
                             {"tq::io::load_checkpoint: ", weight_.name,
                              ": expected a tensor of its ", role, ", got none"});
    Tensor all = read_(found->second);
    const bool is_stack = weight_.experts != 0 && all.shape.size() == 3;  // else read as a matrix
    return is_stack ? matrix_of(std::move(all)) : all;
  }
  /// Its elements as float32. Throws: as `tensor` and `to_float32`.
  [[nodiscard]] std::vector<float> floats(const char* role) const {
    return to_float32<B>(tensor(role));
  }
  /// Its elements, which are int32. Throws: as `tensor` and `values`.
  [[nodiscard]] std::vector<std::int32_t> words(const char* role) const {
    return values<std::int32_t>(tensor(role));
  }
  /// Its bytes, whatever its type. Throws: as `tensor`.
  template <class Byte = std::uint8_t>
    requires(sizeof(Byte) == 1)
  [[nodiscard]] std::vector<Byte> bytes(const char* role) const {
    const Tensor t = tensor(role);
    std::vector<Byte> out(t.bytes.size());
    if (!out.empty()) std::memcpy(out.data(), t.bytes.data(), out.size());
    return out;
  }

  /// Its bytes as the codes of an encoded tensor. Throws: as `tensor`.
  [[nodiscard]] Buffer<std::byte> codes(const char* role) const { return codes(tensor(role)); }
  /// The bytes of a tensor, likewise.
  [[nodiscard]] static Buffer<std::byte> codes(const Tensor& t) {
    Buffer<std::byte> out(t.bytes.size());
    if (!t.bytes.empty()) std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
    return out;
  }

 private:
  [[nodiscard]] Tensor matrix_of(Tensor stack) const {
    const std::size_t size = stack.bytes.size() / weight_.experts;
    stack.shape.erase(stack.shape.begin());
    stack.bytes = std::vector<std::byte>(stack.bytes.data() + weight_.expert * size,
                                         stack.bytes.data() + (weight_.expert + 1) * size);
    return stack;
  }

  const CheckpointWeight& weight_;
  const ReadTensor& read_;
};

}  // namespace tq::io
