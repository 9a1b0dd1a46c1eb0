// SPDX-License-Identifier: MIT
// Weights of Eigen become packed int4 with zero points, go to a file and come back.
#include <tq/interop/eigen.hpp>
#include <tq/store/save.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/tq.hpp>

#include <Eigen/Core>
#include <iostream>

using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Asymmetric>;

int main() {
  const Eigen::MatrixXf w = Eigen::MatrixXf::Random(64, 256);
  const auto q = tq::quantize<W4>(w);
  tq::save("w4.safetensors", {{"w", q}});
  const auto back = tq::load<W4>("w4.safetensors", "w");
  std::cout << "same " << (q == back) << ", " << q.bytes().size() << " bytes, "
            << tq::compare(w, tq::to_eigen(back)).sqnr_db << " dB\n";
}
