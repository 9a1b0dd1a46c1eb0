// expect: has_levels
// SPDX-License-Identifier: MIT
#include <tq/core/formats.hpp>
#include <tq/linear/grouped_linear.hpp>

// The values of nf4 are no multiples of one number.
tq::GroupedLinear<tq::Int8PerRow> f(const tq::QuantizedTensor<tq::nf4_64>& weights) {
  return tq::GroupedLinear<tq::Int8PerRow>(weights);
}
