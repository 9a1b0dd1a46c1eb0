// SPDX-License-Identifier: MIT
#include "schemes.hpp"

namespace tool {

tq::EncodedLayout layout_of(const tq::QuantSpec& spec, const tq::Shape& shape) {
  return tq::encoded_layout(spec, shape);
}

tq::EncodedTensor encoded(tq::ConstTensorView x, const tq::QuantSpec& spec,
                          tq::NonFinite non_finite) {
  return tq::encode(x, spec, non_finite);
}

std::vector<float> decoded(const tq::EncodedTensor& tensor) { return tq::decode(tensor); }

void validate(const tq::QuantSpec& spec) { tq::validate(spec); }

std::string type_names() { return tq::detail::known_names(tq::all_integers{}); }
std::string granularity_names() { return tq::detail::known_names(tq::detail::all_granularities{}); }
std::string symmetry_names() { return tq::detail::known_names(tq::detail::all_symmetries{}); }
std::string numerics_names() { return tq::detail::known_names(tq::detail::all_numerics{}); }

}  // namespace tool
