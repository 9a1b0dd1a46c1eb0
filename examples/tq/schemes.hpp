// SPDX-License-Identifier: MIT
#pragma once
// The only way from this tool to the static types of tq: what is instantiated for every type is in
// schemes.cpp.

#include <tq/io/dtype.hpp>
#include <tq/model/encoded_tensor.hpp>

#include <string>
#include <vector>

namespace tool {

[[nodiscard]] tq::EncodedLayout layout_of(const tq::QuantSpec& spec, const tq::Shape& shape);
[[nodiscard]] tq::EncodedTensor encoded(tq::ConstTensorView x, const tq::QuantSpec& spec,
                                        tq::NonFinite non_finite);
[[nodiscard]] std::vector<float> decoded(const tq::EncodedTensor& tensor);
// Throws: tq::error where the spec has a name that does not exist, or a size out of range.
void validate(const tq::QuantSpec& spec);

// "int2, int3, ...": for the help texts.
[[nodiscard]] std::string type_names();
[[nodiscard]] std::string granularity_names();
[[nodiscard]] std::string symmetry_names();
[[nodiscard]] std::string numerics_names();

// The types of tensors that hold weights: floats of 16 bits and more.
[[nodiscard]] constexpr bool is_quantizable(tq::io::DType dtype) noexcept {
  using enum tq::io::DType;
  return dtype == f16 || dtype == bf16 || dtype == f32 || dtype == f64;
}

}  // namespace tool
