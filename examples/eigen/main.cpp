// SPDX-License-Identifier: MIT
// Eigen matrices go in and come out, column-major as Eigen makes them.

#include <tq/interop/eigen.hpp>
#include <tq/tq.hpp>

#include <Eigen/Core>
#include <iostream>

using W4 = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::Asymmetric>;
using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;

int main() {
  const Eigen::MatrixXf weights = Eigen::MatrixXf::Random(64, 256);  // [outputs, inputs]
  const Eigen::VectorXf x = Eigen::VectorXf::Random(256);

  // Stored in 4 bits: packed codes, then a matrix again.
  const tq::QuantizedTensor<W4> q = tq::quantize(weights, tq::calibrate<W4>(weights));
  const Eigen::MatrixXf back = tq::to_eigen(q);
  std::cout << "4 bits: " << q.bytes().size() << " bytes of codes, weights "
            << tq::compare(weights, back).sqnr_db << " dB, product "
            << tq::compare(weights * x, back * x).sqnr_db << " dB\n";

  // Just the effect of 8 bits: a matrix of the same type, without codes.
  const W8 params = tq::calibrate<W8>(weights);
  const Eigen::MatrixXf w8 = tq::fake_quantize(weights, params);
  std::cout << "8 bits: weights " << tq::compare(weights, w8).sqnr_db << " dB, product "
            << tq::compare(weights * x, w8 * x).sqnr_db << " dB\n";

  // The codes themselves, as a matrix in the storage order of the weights.
  const auto codes = tq::quantize_codes(weights, params);
  std::cout << "first codes of row 0: " << codes.row(0).head(8).cast<int>() << '\n';
}
