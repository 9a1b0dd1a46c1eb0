// SPDX-License-Identifier: MIT
// Observers, each of its own layout and elements, and calibrators on what they saw.
#include <tq/calibrate/aciq.hpp>
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/calibrate/mean_abs.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/observer.hpp>
#include <tq/observe/percentile.hpp>

#include <string>

#include "stack.hpp"

namespace {

using stack::Shape;
using stack::Stack;
using stack::Tensors;

template <class Acc, class Params, class T>
void check_observer(Stack& stack, const std::string& name, const Shape& s) {
  using Observer = tq::Observer<Acc, typename Params::granularity_type>;
  const Tensors<T> t(s.size());
  const std::string of = " of " + name + " " + tq::to_string(s);
  Observer seen, turned;
  stack.check("Observer" + of, [] { (void)Observer(); });
  stack.check("observe" + of, [&] { seen.observe(t.x(s)); });
  stack.check("observe more" + of, [&] { seen.observe(t.x(s)); });
  turned.set_next_batch(seen.batches());
  stack.check("observe, turned," + of, [&] { turned.observe(t.turned_x(s)); });
  stack.check("merge" + of, [&] { seen.merge(turned); });
}

template <class Acc, class Params, class T, class... Calibrators>
void check(Stack& stack, const std::string& name, const Calibrators&... calibrators) {
  for (const Shape& s : {Shape{300, 9}, Shape{9, 300}, Shape{5, 20000}}) {
    check_observer<Acc, Params, T>(stack, name, s);
    const Tensors<T> t(s.size());
    (stack.check("calibrate of " + name + " " + tq::to_string(s),
                 [&] { (void)tq::calibrate<Params, Acc>(t.x(s), calibrators); }),
     ...);
  }
}

template <class Type, class Granularity, class Symmetry>
using Params = tq::QuantParams<Type, Granularity, Symmetry>;

}  // namespace

void stack::check_observers(Stack& stack) {
  using Whole = Params<tq::int4, tq::PerTensor, tq::Symmetric>;
  using Rows = Params<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  using Columns = Params<tq::uint4, tq::PerChannel<1>, tq::Asymmetric>;
  check<tq::Histogram, Whole, float>(stack, "Histogram", tq::MseCalibrator{},
                                     tq::EntropyCalibrator{}, tq::AciqCalibrator<>{});
  check<tq::AbsHistogram, Rows, double>(stack, "AbsHistogram", tq::KlDivergenceCalibrator{});
  check<tq::Percentile, Whole, float>(stack, "Percentile", tq::PercentileCalibrator{},
                                      tq::LpCalibrator{});
  check<tq::MinMax, Columns, double>(stack, "MinMax", tq::MinMaxCalibrator{});
  check<tq::MovingAverageMinMax, Whole, tq::float16>(stack, "MovingAverageMinMax",
                                                     tq::MinMaxCalibrator{});
  check<tq::MeanStd, Columns, double>(stack, "MeanStd", tq::MeanStdCalibrator{});
  check<tq::MeanAbs, Params<tq::ternary, tq::PerTensor, tq::Symmetric>, float>(
      stack, "MeanAbs", tq::MeanAbsCalibrator{});
}
