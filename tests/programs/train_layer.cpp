// SPDX-License-Identifier: MIT
// A linear layer is trained with learned scales, and runs on integers with the same codes.
#include <tq/interop/eigen.hpp>
#include <tq/linear/quantized_linear.hpp>
#include <tq/tq.hpp>

#include <Eigen/Core>
#include <iostream>

using Mat = Eigen::MatrixXf;
using W4 = tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>;
using A8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;

int main() {
  const int n = 256, in = 32, out = 8;
  const Mat x = Mat::Random(n, in).cwiseAbs(), y = x * Mat::Random(out, in).transpose();
  Mat w = Mat::Random(out, in) * 0.1f;
  tq::FakeQuantize<W4, tq::MeanAbs, tq::LearnedStep<>, tq::LearnedStepCalibrator> qw;
  tq::FakeQuantize<A8, tq::MinMax, tq::LearnedAffine<>> qa;
  const auto step = [](auto s, auto g) {
    for (std::size_t i = 0; i < s.size(); ++i) s[i] -= 1e-4f * g[i];
  };
  for (int i = 0; i < 400; ++i) {
    const Mat xq = tq::forward(qa, x), wq = tq::forward(qw, w);
    const Mat gy = (xq * wq.transpose() - y) * (2.0f / n);
    (void)tq::backward(qa, x, Mat(gy * wq));
    w -= 0.05f * tq::backward(qw, w, Mat(gy.transpose() * xq));
    qw.update(step);
    qa.update(step);
  }
  qw.eval();
  qa.eval();
  const Mat wq = tq::forward(qw, w), expected = tq::forward(qa, x) * wq.transpose();
  const auto codes = tq::quantize(w, tq::convert(qw));
  const tq::QuantizedLinear layer(codes, {}, tq::StaticActivation(tq::convert(qa)));
  Mat result(n, out);
  layer.forward(x, result);
  std::cout << "codes same " << (Mat(tq::to_eigen(codes)) == wq) << ", error "
            << (expected - y).squaredNorm() / n << ", integers within "
            << (result - expected).cwiseAbs().maxCoeff() << '\n';
}
