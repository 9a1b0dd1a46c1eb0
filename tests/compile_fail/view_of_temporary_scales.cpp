// expect: one error: this view would outlive the temporary it looks into
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>

#include <span>
#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
float f(const std::vector<float>& x) {
  const std::span<const float> scales = tq::calibrate<W8>(x).scales();
  return scales[0];
}
