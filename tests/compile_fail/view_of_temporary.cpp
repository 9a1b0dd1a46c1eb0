// expect: one error: tq::TensorView: the view would outlive this temporary: give it a name first
// SPDX-License-Identifier: MIT
#include <tq/core/tensor_view.hpp>

#include <vector>

std::vector<float> make();
float f() {
  const tq::ConstTensorView v(make());
  return *v.data();
}
