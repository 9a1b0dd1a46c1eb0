// SPDX-License-Identifier: MIT
// The first lines of a consumer of tq, and a use of each component whose USE_ macro is defined.
#include <tq/tq.hpp>

#if defined(USE_EIGEN)
#include <tq/interop/eigen.hpp>
#endif
#if defined(USE_JSON)
#include <tq/containers/npz.hpp>
#include <tq/json/json.hpp>
#endif
#if defined(USE_OPENMP)
#include <tq/interop/openmp.hpp>
#endif
#if defined(USE_TBB)
#include <tq/interop/tbb.hpp>
#endif
#if defined(USE_MPI)
#include <tq/interop/mpi.hpp>
#endif

#include <cstdint>
#include <cstdio>
#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;

// Whether two ways to the same codes differ.
template <class Executor>
bool differs(const std::vector<float>& x, const W8& params, const Executor& executor) {
  std::vector<std::int8_t> expected(x.size()), codes(x.size());
  tq::quantize(x, params, expected);
  tq::quantize(x, params, codes, tq::numerics::onnx{}, executor);
  return codes != expected;
}

int main() {
  const std::vector<float> weights{-1.0F, -0.5F, 0.0F, 0.25F, 1.0F};
  const W8 params = tq::calibrate<W8>(weights);
  const tq::QuantizedTensor<W8> q = tq::quantize(weights, params);
  const std::vector<float> back = tq::dequantize(q);
  const tq::ErrorMetrics e = tq::compare(weights, back);
  std::printf("mse %g\n", static_cast<double>(e.mse));
  int failures = e.mse < 1e-4 ? 0 : 1;
#if defined(USE_EIGEN)
  const Eigen::VectorXf vector = Eigen::Map<const Eigen::VectorXf>(weights.data(), 5);
  if (tq::compare(vector, tq::fake_quantize(vector, params)).mse != e.mse) ++failures;
#endif
#if defined(USE_JSON)
  if (tq::io::params_from_json<W8>(tq::io::params_to_json(params)).scales()[0] !=
      params.scales()[0])
    ++failures;
#endif
#if defined(USE_OPENMP)
  if (differs(weights, params, tq::interop::OpenMp{})) ++failures;
#endif
#if defined(USE_TBB)
  if (differs(weights, params, tq::interop::Tbb{})) ++failures;
#endif
#if defined(USE_MPI)
  int started = 0;
  if (MPI_Initialized(&started) != MPI_SUCCESS || started != 0) ++failures;
#endif
  return failures;
}
