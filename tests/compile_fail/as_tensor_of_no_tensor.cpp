// expect: one error: tq::as_tensor: this type is no tensor: give it a function tq_as_tensor.x. in
// its own namespace, or a specialization of tq::tensor_adapter SPDX-License-Identifier: MIT
#include <tq/core/as_tensor.hpp>

#include <list>

void f(std::list<float>& x) { (void)tq::as_tensor(x); }
