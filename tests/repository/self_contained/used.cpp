// SPDX-License-Identifier: MIT
// Instantiates operations, observers, calibrators and layers of every kind once, for the warnings
// they might give.
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/tq.hpp>

#include <vector>

namespace {

template <class P, class Acc, class C>
P observed(const std::vector<float>& x, const C& calibrator) {
  tq::Observer<Acc, typename P::granularity_type> observer;
  observer.observe(x);
  observer.merge(observer);
  return tq::calibrate<P>(observer, calibrator);
}

template <class P>
double there_and_back(const std::vector<float>& x) {
  const P params = tq::calibrate<P>(x);
  const auto q = tq::quantize(x, params);
  std::vector<float> faked(x.size());
  tq::fake_quantize(x, params, faked);
  return tq::compare(x, tq::dequantize(q)).mse + tq::compare(faked, x).mse;
}

template <class P, class G>
void trained(const std::vector<float>& x, std::vector<float>& out) {
  tq::FakeQuantize<P, tq::MinMax, G> layer;
  layer.forward(x, out);
  layer.backward(x, x, out);
}

}  // namespace

double use_everything(const std::vector<float>& x, std::vector<float>& out) {
  using A8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  using S8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  observed<A8, tq::MinMax>(x, tq::MinMaxCalibrator{});
  observed<A8, tq::MovingAverageMinMax>(x, tq::MinMaxCalibrator{});
  observed<S8, tq::AbsMax>(x, tq::MinMaxCalibrator{});
  observed<S8, tq::MeanAbs>(x, tq::MeanAbsCalibrator{});
  observed<A8, tq::MeanStd>(x, tq::MeanStdCalibrator{});
  observed<A8, tq::MeanStd>(x, tq::AciqCalibrator<tq::Gauss>{});
  observed<A8, tq::Percentile>(x, tq::PercentileCalibrator{});
  observed<A8, tq::Histogram>(x, tq::MseCalibrator{});
  observed<A8, tq::Histogram>(x, tq::KlDivergenceCalibrator{});
  observed<A8, tq::Histogram>(x, tq::EntropyCalibrator{});
  observed<S8, tq::AbsHistogram>(x, tq::LpCalibrator{});
  trained<S8, tq::ClippedStraightThrough>(x, out);
  trained<S8, tq::LearnedStep<>>(x, out);
  const auto cast = tq::cast_to<tq::bfloat16>(std::span<const float>(x));
  using D4 = tq::QuantParams<tq::int4, tq::PerToken, tq::Symmetric>;
  const auto dynamic = tq::quantize_dynamic<D4>(tq::ConstTensorView(x.data(), {1, x.size()}));
  using Types = tq::TypeList<tq::int4, tq::nf4>;
  using Scales = tq::TypeList<float, tq::float8_e8m0fnu, tq::DoubleQuantized>;
  const tq::EncodedTensor encoded =
      tq::encode<Types, Scales>(tq::ConstTensorView(x.data(), {x.size()}), tq::named_scheme("nf4"));
  return there_and_back<A8>(x) + there_and_back<tq::nf4_64>(x) + there_and_back<tq::mxfp4>(x) +
         there_and_back<tq::nvfp4>(x) +
         static_cast<double>(tq::decode<Types, Scales>(encoded).size() + cast.size() +
                             dynamic.bytes().size());
}
