// SPDX-License-Identifier: MIT
// Calibration on many machines: every rank sees some of the batches, and all end with the
// parameters that one would have found on all of them, to the last bit.
//     mpiexec -n 4 mpi_calibrate [output.json]

#include "common/data_folder.hpp"

#include <tq/calibrate/percentile.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/interop/mpi.hpp>
#include <tq/json/observer_json.hpp>
#include <tq/tq.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace {

using Hidden = tq::PerChannel<1>;  // of a batch of [images, neurons]
using A8 = tq::QuantParams<tq::int8, Hidden, tq::Asymmetric>;

constexpr std::size_t pixels = 64, neurons = 128, batch_size = 32;

struct Data {
  std::vector<float> images, weight, bias;
};

Data load(const std::filesystem::path& folder) {
  const auto net = tq::io::SafetensorsReader::open(folder / "digits_mlp.safetensors");
  Data data{tq::io::to_float32(tq::io::read_npy(folder / "images_u8.npy")),
            tq::io::to_float32(net.read("fc1.weight")), tq::io::to_float32(net.read("fc1.bias"))};
  for (float& pixel : data.images) pixel /= 16;
  return data;
}

// The outputs of the network's first layer for some images.
std::vector<float> first_layer(const Data& data, std::span<const float> images) {
  std::vector<float> out;
  for (std::size_t i = 0; i < images.size(); i += pixels)
    for (std::size_t n = 0; n < neurons; ++n) {
      double sum = double{data.bias[n]};
      for (std::size_t k = 0; k < pixels; ++k)
        sum += double{data.weight[n * pixels + k]} * double{images[i + k]};
      out.push_back(static_cast<float>(sum));
    }
  return out;
}

void run(const std::filesystem::path& output) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Data data = load(examples::data_folder() / "digits");

  tq::Observer<tq::Histogram, Hidden> observer({}, {}, "fc1");
  const std::size_t step = batch_size * pixels, batches = (data.images.size() + step - 1) / step;
  for (auto b = static_cast<std::size_t>(rank); b < batches; b += static_cast<std::size_t>(ranks)) {
    const std::size_t begin = b * step, size = std::min(step, data.images.size() - begin);
    const std::vector<float> y = first_layer(data, std::span(data.images).subspan(begin, size));
    observer.set_next_batch(b);  // its place in the whole
    observer.observe(tq::ConstTensorView(y.data(), {size / pixels, neurons}));
  }
  tq::interop::all_reduce(observer, MPI_COMM_WORLD);
  const A8 params = tq::calibrate<A8>(observer, tq::PercentileCalibrator{});  // the same everywhere

  if (rank != 0) return;
  const tq::io::Json json{{"observer", tq::io::observer_to_json(observer)},
                          {"params", tq::io::params_to_json(params)}};
  std::ofstream file(output, std::ios::binary);
  if (!(file << json.dump() << '\n' << std::flush))
    tq::raise(tq::errc::io_failure, "mpi_calibrate: cannot write " + output.string());
  std::cout << batches << " batches of " << batch_size << " images on " << ranks
            << " ranks: " << params.scales().size() << " scales from " << params.scales().front()
            << " to " << params.scales().back() << " in " << output.string() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    run(argc > 1 ? argv[1] : "mpi_calibrate.json");
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);  // the others may be waiting
  }
  MPI_Finalize();
}
