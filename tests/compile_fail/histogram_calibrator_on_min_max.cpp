// expect: one error: tq::calibrate: this calibrator cannot choose from what the observer keeps
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>

struct Entropy {
  template <tq::AnyParams Params, tq::NumericsPolicy N, tq::HistogramAccumulator Acc>
  tq::Range range(const Acc& seen) const {
    return seen.range();
  }
};
using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
Params f(const tq::Observer<tq::MinMax>& seen) { return tq::calibrate<Params>(seen, Entropy{}); }
