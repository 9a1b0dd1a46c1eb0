// expect: one error: an executor .a model of tq::Executor.
// SPDX-License-Identifier: MIT
#include <tq/ops/fake_quantize.hpp>

struct Pool {
  template <class F>
  void operator()(unsigned long n, F&& f) const {
    for (unsigned long i = 0; i < n; ++i) f(i);
  }
};
using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
void f(tq::ConstTensorView x, const Params& p, tq::TensorView<float> out) {
  tq::fake_quantize(x, p, out, tq::Numerics<>{}, Pool{});
}
