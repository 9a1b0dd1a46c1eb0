// SPDX-License-Identifier: MIT
#pragma once
// SavedTensor: a tensor and the name under which `save` writes it.

#include <tq/bodies.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/real.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/copy.hpp>
#include <tq/scheme/encoded_conversion.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/float_scales.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/store/stored_tensor.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

namespace store::detail {

template <Real T>
[[nodiscard]] constexpr io::DType dtype_of_real() noexcept {
  if constexpr (std::same_as<T, float16>) return io::DType::f16;
  else if constexpr (std::same_as<T, bfloat16>) return io::DType::bf16;
  else return io::dtype_of<T>::value;
}

// The elements, row-major and little-endian.
template <Real T>
[[nodiscard]] io::Tensor tensor_of(const TensorView<const T>& x) {
  io::Tensor out{"", dtype_of_real<T>(), to_extents(x.shape()), {}};
  std::vector<T> values(x.size());
  copy(x, TensorView<T>(values.data(), x.shape()));
  out.bytes.resize(values.size() * sizeof(T));
  const auto bytes = std::as_bytes(std::span<const T>(values));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool is_little = std::endian::native == std::endian::little;
    out.bytes[is_little ? i : i / sizeof(T) * sizeof(T) + sizeof(T) - 1 - i % sizeof(T)] = bytes[i];
  }
  return out;
}

}  // namespace store::detail

/// A named tensor for `save`. Codes of a quantized tensor that is no temporary are not copied, so
/// it must stay as it is until it is saved; parameters and plain tensors are copied. Scales of
/// super-blocks (`SuperBlock<...>`) are saved as float32.
class SavedTensor {
 public:
  /// A quantized tensor. The file names the numerics that its parameters remember. `dtype`: the
  /// type that it had before it was quantized, and that other programs get back: F64, F32, F16,
  /// BF16 or float8.
  template <AnyParams Params>
  SavedTensor(std::string name, const QuantizedTensor<Params>& tensor,
              io::DType dtype = io::DType::f32)
      : SavedTensor(std::move(name), tensor.shape(), dtype) {
    scheme_.spec = spec_of(tensor.params());
    tq::detail::take_parameters(scheme_, tensor.params());
    use_scales_of_files();
    bytes_ = tensor.bytes();
  }
  /// A quantized tensor that is moved in is kept.
  template <AnyParams Params>
  SavedTensor(std::string name, QuantizedTensor<Params>&& tensor, io::DType dtype = io::DType::f32)
      : SavedTensor(std::move(name), to_encoded(std::move(tensor)), dtype) {}
  /// A quantized tensor whose scheme is a value. Its parts are checked when it is saved.
  TQ_API SavedTensor(std::string name, const EncodedTensor& tensor,
                     io::DType dtype = io::DType::f32);
  TQ_API SavedTensor(std::string name, EncodedTensor&& tensor, io::DType dtype = io::DType::f32);
  /// A tensor that is not quantized, of float32, float64, float16 or bfloat16: everything that
  /// `tq::as_tensor` takes.
  template <Readable X>
  SavedTensor(std::string name, const X& tensor)
      : SavedTensor(std::move(name), store::detail::tensor_of(tq::detail::read(tensor).view())) {}
  /// A tensor of any type of the file, as it is; `name` takes the place of its own.
  TQ_API SavedTensor(std::string name, io::Tensor tensor);

  [[nodiscard]] const std::string& name() const noexcept { return stored_.name; }
  /// Name, type and shape, as a reader will find them.
  [[nodiscard]] const StoredTensor& stored() const noexcept { return stored_; }
  [[nodiscard]] bool is_quantized() const noexcept { return is_quantized_; }
  /// Scheme and parameters of a quantized tensor, without its codes.
  [[nodiscard]] const EncodedTensor& scheme() const noexcept { return scheme_; }
  /// The codes of a quantized tensor, or the elements of another.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  TQ_API SavedTensor(std::string name, const Shape& shape, io::DType dtype);
  TQ_API void use_scales_of_files();

  StoredTensor stored_;
  bool is_quantized_ = true;
  EncodedTensor scheme_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;  // of the bytes, where they are not the caller's
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/saved_tensor.ipp>
#endif
