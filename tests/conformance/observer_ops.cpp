// SPDX-License-Identifier: MIT
// Observers as in PyTorch: batches in, scale and zero point out. `explicit_range` says that PyTorch
// was given quant_min and quant_max.
//
// Ranges that are only watched must give PyTorch's parameters. Ranges that are searched for must be
// as good as PyTorch's: the mean squared error of ours on the recorded batches, no larger. They are
// chosen by what `Percentile` keeps: the values, or where there are more than 4096 a histogram.

#include "elements.hpp"

#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/percentile.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/fake_quantize.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

namespace conformance {

namespace {

using ObservedIntegers = TypeList<tq::int4, tq::int7, tq::int8, tq::uint4, tq::uint7, tq::uint8>;

std::string text(double v) {
  char out[32];
  std::snprintf(out, sizeof out, "%.9g", v);
  return out;
}

template <class Acc, class G>
tq::Observer<Acc, G> observed(const Case& c, const G& granularity, const Acc& prototype) {
  tq::Observer<Acc, G> seen(granularity, prototype, c.id);
  for (const TensorFile& input : c.inputs) {
    const std::vector<float> x = input.floats();
    seen.observe(tq::ConstTensorView(x.data(), shape_of(input.load())));
  }
  return seen;
}

template <class T, class S, class Acc, class G>
void check_watched(const Case& c, const G& granularity, const Acc& prototype) {
  using Params = tq::QuantParams<T, G, S>;
  const auto seen = observed(c, granularity, prototype);
  const auto params = tq::calibrate<Params>(seen, tq::numerics::torch{});
  const Tensor scale = c.output("scale").load(), zero = c.output("zero_point").load();
  const std::vector<float> scales(params.scales().begin(), params.scales().end());
  const std::vector<std::int32_t> zeros(params.zero_points().begin(), params.zero_points().end());
  require("scale",
          scale_rel_zp_abs(scale, tq::io::from_float32("scale", scale.shape, scales), zero,
                           tq::io::from_values<std::int32_t>("zero_point", zero.shape, zeros),
                           c.tolerance.number("scale_rel"), c.tolerance.number("zp_abs")));
  std::vector<float> min, max;
  for (const Acc& slot : seen.accumulators()) {
    min.push_back(slot.range().min);
    max.push_back(slot.range().max);
  }
  const auto near = [&](const char* name, const std::vector<float>& got) {
    const Tensor expected = c.output(name).load();
    require(name, rel_abs(expected, tq::io::from_float32(name, expected.shape, got), 1e-6, 0));
  };
  near("min", min);
  near("max", max);
}

template <class Params>
double squared_error(const std::vector<float>& x, const Params& params) {
  return tq::compare(x, tq::fake_quantize(x, params, tq::numerics::torch{})).mse;
}

// PyTorch's codes are those of `Theirs`.
template <class T, class S, class Theirs>
void check_searched(const Case& c) {
  using Params = tq::QuantParams<T, tq::PerTensor, S>;
  using Peer = tq::QuantParams<T, tq::PerTensor, Theirs>;
  const auto seen = observed(c, tq::PerTensor{}, tq::Percentile{});
  const auto params = tq::calibrate<Params>(seen, tq::MseCalibrator{}, tq::numerics::torch{});
  const auto zero = zero_points_of(c.output("zero_point"));
  const Peer peer(c.output("scale").floats().at(0), zero.at(0));
  std::vector<float> all;
  for (const TensorFile& input : c.inputs) {
    const std::vector<float> x = input.floats();
    all.insert(all.end(), x.begin(), x.end());
  }
  const double ours = squared_error(all, params), theirs = squared_error(all, peer);
  if (!(ours <= theirs))
    throw Failure{"scale",
                  {"a larger mean squared error than that of the recorded scale " +
                       text(peer.scales()[0]) + ", ours " + text(params.scales()[0]),
                   std::nullopt, "at most " + text(theirs), text(ours)}};
}

template <class T, class S, class Searched>
void run_observer(const Case& c) {
  const auto kind = c.attributes.at("observer").get<std::string>();
  const tq::PerChannel<> channels(c.attribute("axis", 0));
  const tq::MovingAverageMinMax moving(c.attribute("averaging_constant", 0.01));
  if (kind == "minmax") {
    check_watched<T, S>(c, tq::PerTensor{}, tq::MinMax{});
  } else if (kind == "moving_average_minmax") {
    check_watched<T, S>(c, tq::PerTensor{}, moving);
  } else if (kind == "per_channel_minmax") {
    check_watched<T, S>(c, channels, tq::MinMax{});
  } else if (kind == "moving_average_per_channel_minmax") {
    check_watched<T, S>(c, channels, moving);
  } else if (kind == "histogram") {
    check_searched<T, std::conditional_t<(T::qmin < 0), Searched, S>, S>(
        c);  // unsigned codes take a zero point
  } else {
    throw Skip{"observer " + kind + " is not built yet"};
  }
}

}  // namespace

void torch_observer(const Case& c) {
  const auto qmin = c.attributes.at("quant_min").get<std::int64_t>();
  const auto qmax = c.attributes.at("quant_max").get<std::int64_t>();
  const bool symmetric = c.attributes.at("qscheme").get<std::string>() == "symmetric";
  const auto matches = [&]<class T>(std::type_identity<T>) {
    return T::qmin == qmin && T::qmax == qmax;
  };
  const auto run = [&]<class T>(std::type_identity<T>) {
    if (symmetric && c.attribute("explicit_range", false))
      run_observer<T, tq::SymmetricHalfDown, tq::Symmetric>(c);
    else if (symmetric) run_observer<T, tq::SymmetricHalf, tq::Symmetric>(c);
    else run_observer<T, tq::Asymmetric, tq::Asymmetric>(c);
  };
  if (!with_first(ObservedIntegers{}, matches, run))
    throw Skip{"codes from " + std::to_string(qmin) + " to " + std::to_string(qmax) +
               " are not built yet"};
}

}  // namespace conformance
