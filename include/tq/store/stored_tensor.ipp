// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/stored_tensor.hpp.

#include <tq/scheme/type_list.hpp>
#include <tq/store/stored_tensor.hpp>

#include <span>

namespace tq {

namespace store {

TQ_API Shape to_shape(const std::vector<std::size_t>& extents) {
  return Shape(std::span<const std::size_t>(extents));
}

TQ_API std::vector<std::size_t> to_extents(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

TQ_API std::shared_ptr<const Encoding> encoding_of(const QuantSpec& spec,
                                                   const std::vector<std::size_t>& shape,
                                                   int version) {
  const EncodedLayout layout = encoded_layout<all_elements, all_scales>(spec, to_shape(shape));
  return std::make_shared<const Encoding>(
      Encoding{spec, layout, stored_parts(shape, spec, layout, version)});
}

}  // namespace store

TQ_API const QuantSpec* StoredTensor::spec() const noexcept {
  return encoding ? &encoding->spec : nullptr;
}

TQ_API std::string StoredTensor::scheme() const {
  if (encoding) return to_string(encoding->spec);
  if (!blocks.empty()) return "gguf " + blocks;
  return foreign ? foreign->scheme : std::string(to_string(dtype));
}

}  // namespace tq
