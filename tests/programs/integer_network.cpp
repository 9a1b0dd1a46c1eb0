// SPDX-License-Identifier: MIT
// Three layers on integers with calibrated activations, and with weights of 4 bits.
#include <tq/interop/eigen.hpp>
#include <tq/linear.hpp>
#include <tq/tq.hpp>

#include <Eigen/Core>
#include <iostream>

using Mat = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Codes = Eigen::Matrix<std::uint8_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using W4 = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::Asymmetric>;
using A8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;

int main() {
  const int d[] = {784, 512, 256, 10}, rows = 32;
  Mat w[3], x = Mat::Random(rows, 784).cwiseAbs(), y = x, values = x;
  tq::Observer<tq::MinMax> seen[3];
  for (int l = 0; l < 3; ++l) {
    w[l] = Mat::Random(d[l + 1], d[l]) * (1.7f / std::sqrt(float(d[l])));
    seen[l].observe(y);
    y = l < 2 ? Mat((y * w[l].transpose()).cwiseMax(0.0f)) : Mat(y * w[l].transpose());
  }
  const auto in = [&](int l) { return tq::StaticActivation(tq::calibrate<A8>(seen[l])); };
  const auto relu = [&](int l) { return tq::CodeOutput(in(l).params(), tq::Clamp::relu()); };
  const tq::QuantizedLinear l0(tq::quantize<W8>(w[0]), {}, in(0), relu(1)),
      l1(tq::quantize<W8>(w[1]), {}, in(1), relu(2));
  const tq::QuantizedLinear l2(tq::quantize<W8>(w[2]), {}, in(2));
  Codes c1(rows, 512), c2(rows, 256);
  Mat out(rows, 10);
  l0.forward(x, c1);
  l1.forward(c1, c2);
  l2.forward(c2, out);
  std::cout << "int8 " << tq::compare(y, out).sqnr_db << " dB\n";
  for (int l = 0; l < 3; ++l) {
    Mat next(rows, d[l + 1]);
    tq::GroupedLinear<tq::Int8PerRow>(tq::quantize<W4>(w[l])).forward(values, next);
    values = l < 2 ? Mat(next.cwiseMax(0.0f)) : next;
  }
  std::cout << "int4 " << tq::compare(y, values).sqnr_db << " dB\n";
}
