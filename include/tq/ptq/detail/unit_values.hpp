// SPDX-License-Identifier: MIT
#pragma once
// unit_values: what codes stand for under scale 1.

#include <tq/core/buffer.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ptq/detail/column_groups.hpp>

#include <cstddef>
#include <vector>

namespace tq::detail {

/// The values of a matrix of codes at scale 1, less their zero points and without offsets, exactly:
/// times their scales they are the weights that integer products use.
template <AnyParams Params>
[[nodiscard]] std::vector<double> unit_values(const QuantizedTensor<Params>& tensor) {
  const std::size_t n = tensor.shape()[1];
  const ColumnGroups<Params> groups(tensor.params(), tensor.shape());
  Buffer<typename Params::code_type> codes(tensor.size());
  unpack<typename Params::type>(tensor.bytes(), codes.span());
  std::vector<double> out(tensor.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto code = codes.data()[i];
    if constexpr (CodedElement<typename Params::type>)
      out[i] = static_cast<double>(value_of<typename Params::type::format>(code));
    else out[i] = static_cast<double>(code);
    if constexpr (Params::has_zero_point)
      out[i] -= groups.affine(i / n, groups.group(i % n)).zero_point;
  }
  return out;
}

}  // namespace tq::detail
