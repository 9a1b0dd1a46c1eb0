// expect: one error: tq::as_tensor: tq_as_tensor of this type must return a tq::TensorView
// SPDX-License-Identifier: MIT
#include <tq/core/as_tensor.hpp>

#include <vector>

namespace user {
struct Tensor {
  std::vector<float> data;
};
inline std::vector<float> tq_as_tensor(const Tensor& t) { return t.data; }
}  // namespace user

void f(const user::Tensor& x) { (void)tq::as_tensor(x); }
