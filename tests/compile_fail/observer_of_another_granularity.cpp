// expect: one error: tq::calibrate: observer and scheme cut tensors differently: give the observer
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>

using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
auto f(const tq::Observer<tq::MinMax>& seen) { return tq::calibrate<W8>(seen); }
