// SPDX-License-Identifier: MIT
#pragma once
// Codes of encoded tensors under parameters that they have.

#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/sweep.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/code_kernels.hpp>
#include <tq/scheme/detail/encoded_codes.hpp>
#include <tq/scheme/detail/encoded_parameters.hpp>
#include <tq/scheme/encoded_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tq::detail {

/// Sets the codes to those that have whole bytes each in `codes`.
template <Backend B>
void set_codes(EncodedTensor& tensor, const EncodedLayout& layout,
               std::span<const std::byte> codes) {
  if (tensor.codes.size() != layout.code_bytes) tensor.codes = Buffer<std::byte>(layout.code_bytes);
  if (layout.bits < 8) return pack_codes<B>(codes, tensor.codes.span(), layout);
  std::ranges::copy(codes, tensor.codes.data());
}

/// Sets the codes to the nearest of `x`.
template <class Types, class ScaleTypes, Backend B, Executor E>
void round_codes(const ConstTensorView& x, EncodedTensor& tensor, const EncodedLayout& layout,
                 const E& executor) {
  Buffer<std::byte> codes(x.size() * layout.code_size());
  const auto quantize = quantize_kernel_of<Types, B>(tensor.spec, layout.codes);
  sweep_tensor(quantize.get(), {x.data(), x.strides(), codes.data(), row_major_strides(x.shape())},
               x.shape(), AnyGranularity(tensor.spec).block(x.shape()),
               driver_parameters<Types, ScaleTypes, B>(tensor), executor);
  set_codes<B>(tensor, layout, codes.span());
}

}  // namespace tq::detail
