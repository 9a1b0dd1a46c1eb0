// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/tensor.hpp.

#include <tq/containers/tensor.hpp>

namespace tq::io {

TQ_API std::string shape_text(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text.append(i == 0 ? "" : ", ").append(std::to_string(shape[i]));
  return text + "]";
}

namespace detail {

TQ_API std::size_t checked_count(const char* where, const Tensor& t) {
  const std::optional<std::uint64_t> size = storage_bytes(t.dtype, t.shape);
  if (!size || *size != t.bytes.size())
    tq::detail::raise_text(
        errc::shape_mismatch,
        {where, ": ", t.name, ": expected ",
         size ? std::to_string(*size) + " bytes" : std::string("a shape of whole bytes"), " for ",
         to_string(t.dtype), " ", shape_text(t.shape), ", got ", t.bytes.size(), " bytes"});
  return static_cast<std::size_t>(*element_count(t.shape));
}

TQ_API void require_bytes(const char* where, DType dtype, std::size_t count, std::size_t got) {
  if (bytes_of(dtype, count) != got)
    tq::detail::raise_expected(
        errc::shape_mismatch, where,
        {bytes_of(dtype, count), " bytes for ", count, " elements of ", to_string(dtype)}, {got});
}

TQ_API void refuse_complex(const std::string& where, DType dtype) {
  tq::detail::raise_expected(errc::unsupported, where, {"a real type"}, {to_string(dtype)});
}

}  // namespace detail

TQ_API Shape tensor_shape(const Tensor& tensor) {
  if (tensor.shape.size() > std::size_t{max_rank})
    tq::detail::raise_text(errc::rank_too_large,
                           {"tq::io::tensor_shape: ", tensor.name, ": expected a rank of at most ",
                            max_rank, ", got ", tensor.shape.size()});
  return Shape(std::span<const std::size_t>(tensor.shape));
}

}  // namespace tq::io
