// expect: one error: tq::as_tensor: this expression has no elements in memory: evaluate it first
// SPDX-License-Identifier: MIT
#include <tq/interop/eigen.hpp>

void f(const Eigen::MatrixXf& x) { (void)tq::as_tensor(x + x); }
