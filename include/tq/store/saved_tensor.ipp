// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/saved_tensor.hpp.

#include <tq/store/saved_tensor.hpp>

namespace tq {

TQ_API SavedTensor::SavedTensor(std::string name, const EncodedTensor& tensor, io::DType dtype)
    : SavedTensor(std::move(name), tensor.shape, dtype) {
  scheme_.spec = tensor.spec;
  scheme_.scales = tensor.scales;
  scheme_.zero_points = tensor.zero_points;
  scheme_.offsets = tensor.offsets;
  use_scales_of_files();
  bytes_ = tensor.codes.span();
}

TQ_API SavedTensor::SavedTensor(std::string name, EncodedTensor&& tensor, io::DType dtype)
    : SavedTensor(std::move(name), tensor.shape, dtype) {
  scheme_ = std::move(tensor);
  use_scales_of_files();
  const auto codes = std::make_shared<const Buffer<std::byte>>(std::move(scheme_.codes));
  scheme_.codes = {};
  bytes_ = codes->span();
  owner_ = codes;
}

TQ_API SavedTensor::SavedTensor(std::string name, io::Tensor tensor) : is_quantized_(false) {
  const auto held = std::make_shared<io::Tensor>(std::move(tensor));
  stored_.name = std::move(name);
  stored_.dtype = held->dtype;
  stored_.shape = held->shape;
  bytes_ = held->bytes;
  owner_ = held;
}

TQ_API SavedTensor::SavedTensor(std::string name, const Shape& shape, io::DType dtype) {
  stored_.name = std::move(name);
  stored_.dtype = dtype;
  stored_.shape = store::to_extents(shape);
  scheme_.shape = shape;
}

TQ_API void SavedTensor::use_scales_of_files() {
  if (detail::names_super_block(scheme_.spec.scale_type)) use_float_scales(scheme_);
}

}  // namespace tq
