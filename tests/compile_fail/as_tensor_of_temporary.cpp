// expect: one error: tq::as_tensor: the view would outlive this temporary: give it a name first
// SPDX-License-Identifier: MIT
#include <tq/core/as_tensor.hpp>

#include <vector>

void f() { (void)tq::as_tensor(std::vector<float>(3)); }
