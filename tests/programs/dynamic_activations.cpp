// SPDX-License-Identifier: MIT
// Activations of Eigen become int8 with a scale a row, in memory of the caller, on all threads.
#include <tq/interop/eigen.hpp>
#include <tq/interop/openmp.hpp>
#include <tq/tq.hpp>

#include <Eigen/Core>
#include <algorithm>
#include <iostream>
#include <vector>

using D8 = tq::QuantParams<tq::int8, tq::PerToken, tq::Symmetric>;

int main() {
  const Eigen::MatrixXf x = Eigen::MatrixXf::Random(512, 1024);
  std::vector<std::int8_t> codes(512 * 1024);
  std::vector<float> scales(512);
  tq::quantize_dynamic<D8>(x, {.codes = codes, .scales = scales}, tq::interop::OpenMp{});
  const auto q = tq::quantize_dynamic<D8>(x, tq::interop::OpenMp{});
  std::cout << "same " << std::ranges::equal(codes, q.codes()) << '\n';
}
