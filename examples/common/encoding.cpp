// SPDX-License-Identifier: MIT
#include "common/encoding.hpp"

namespace examples {

tq::EncodedLayout layout_of(const tq::QuantSpec& spec, const tq::Shape& shape) {
  return tq::encoded_layout<Types, Scales>(spec, shape);
}

tq::EncodedTensor encoded(tq::ConstTensorView x, const tq::QuantSpec& spec,
                          tq::NonFinite non_finite) {
  return tq::encode<Types, Scales>(x, spec, non_finite);
}

tq::EncodedTensor fitted(const tq::QuantSpec& spec, std::span<const tq::Range> ranges) {
  return tq::fitted_parameters<Types, Scales>(spec, ranges);
}

tq::StoredParameters stored(const tq::EncodedTensor& tensor) {
  return tq::stored_parameters<Scales>(tensor);
}

void decode(const tq::EncodedTensor& tensor, std::span<float> out) {
  tq::decode<Types, Scales>(tensor, out);
}

}  // namespace examples

template class tq::PieceCoder<examples::Types, examples::Scales>;
template tq::EncodedLayout tq::encoded_layout<examples::Types, examples::Scales>(
    const tq::QuantSpec& spec, const tq::Shape& shape);
