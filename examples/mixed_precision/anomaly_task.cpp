// SPDX-License-Identifier: MIT
// The anomaly detector of MLPerf Tiny, an autoencoder of sounds: the first half of a recording to
// select by, the second to judge.
#include "digits/files.hpp"
#include "digits/network.hpp"
#include "task.hpp"

#include <tq/containers/npy.hpp>
#include <tq/containers/safetensors.hpp>

#include <memory>
#include <string>

namespace {

// Layers fc0 to fc9 with ReLU after all but the last.
Network load_autoencoder(const std::filesystem::path& file) {
  const auto tensors = tq::io::SafetensorsReader::open(file);
  Network net{"ad01", {}};
  for (int i = 0; tensors.contains("fc" + std::to_string(i) + ".weight"); ++i) {
    const std::string name = "fc" + std::to_string(i);
    Layer layer{name, to_matrix(tensors.read(name + ".weight")), {}, {}};
    layer.shift = to_matrix(tensors.read(name + ".bias"));
    net.layers.push_back(layer);
  }
  net.layers.back().relu = false;
  return net;
}

struct SoundScorer {
  Network network;
  Matrix windows[2], outputs[2];  // outputs of the float network

  explicit SoundScorer(const std::filesystem::path& folder)
      : network(load_autoencoder(folder / "ad01_toycar_mlp.safetensors")) {
    const Matrix all = to_matrix(tq::io::read_npy(folder / "input.npy"));
    const Index half = all.rows() / 2;
    windows[0] = all.topRows(half);
    windows[1] = all.bottomRows(all.rows() - half);
    for (int i = 0; i < 2; ++i) outputs[i] = forward(network, windows[i]);
  }

  Score operator()(const std::vector<Weights>& weights, Data data) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      Matrix& w = network.layers[i].weight;
      w = Eigen::Map<const Matrix>(weights[i].values.data(), w.rows(), w.cols());
    }
    const int on = data == Data::to_judge ? 1 : 0;
    const Matrix now = forward(network, windows[on]);
    const auto mean_square = [](const Matrix& x) {
      return x.cast<double>().squaredNorm() / static_cast<double>(x.size());
    };
    return {mean_square(now - outputs[on]), mean_square(now - windows[on])};
  }
};

}  // namespace

Task anomaly_task(const std::filesystem::path& data) {
  const auto scorer = std::make_shared<SoundScorer>(data / "ad01");
  Task task{"ad01 autoencoder", "squared error", 4, {}, {}};
  for (const Layer& layer : scorer->network.layers)
    task.weights.push_back(weights_of(layer.name, layer.weight));
  task.score = [scorer](const std::vector<Weights>& weights, Data on) {
    return (*scorer)(weights, on);
  };
  return task;
}
