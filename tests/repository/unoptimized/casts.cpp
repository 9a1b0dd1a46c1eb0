// SPDX-License-Identifier: MIT
// Not run: what every format, granularity and pass comes down to compiles for registers of 512 bits
// without optimization.
#include <tq/tq.hpp>

#include <span>
#include <vector>

namespace {

template <class... Ts>
std::vector<float> there_and_back(std::vector<float> x) {
  const auto one = [&]<class T>(T*) {
    const auto codes = tq::cast_to<T>(std::span<const float>(x));
    x = tq::cast_from<T>(std::span<const typename T::code_type>(codes));
  };
  (one(static_cast<Ts*>(nullptr)), ...);
  return x;
}

}  // namespace

std::vector<float> every_cast(const std::vector<float>& x);
std::vector<float> every_cast(const std::vector<float>& x) {
  return there_and_back<tq::float16, tq::bfloat16, tq::float8_e4m3fn, tq::float8_e4m3fnuz,
                        tq::float8_e5m2, tq::float8_e5m2fnuz, tq::float8_e8m0fnu, tq::float6_e2m3fn,
                        tq::float6_e3m2fn, tq::float4_e2m1fn, tq::fixed8, tq::nf4, tq::dynamic8>(x);
}

std::vector<float> every_pass(const std::vector<float>& x);
std::vector<float> every_pass(const std::vector<float>& x) {
  using A8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  tq::Observer<tq::Histogram> seen;
  seen.observe(x);
  tq::FakeQuantize<A8> layer;
  std::vector<float> y(x.size());
  layer.forward(x, y);
  layer.backward(x, y, y);
  y = tq::dequantize(tq::quantize(y, tq::calibrate<A8>(seen, tq::MseCalibrator{})));
  y = tq::dequantize(tq::quantize(y, tq::calibrate<W4>(y)));
  return tq::dequantize(tq::quantize_dynamic<tq::mxfp4>(y));
}
