// SPDX-License-Identifier: MIT
// A convolutional network that reads digits: training images to select by, others to judge.
#include "digits/files.hpp"
#include "digits/network.hpp"
#include "task.hpp"

#include <memory>

namespace {

struct DigitScorer {
  Network network;
  Images images[2];
  Matrix logits[2];  // of the float network

  explicit DigitScorer(const std::filesystem::path& folder)
      : network(load_network(folder / "digits_cnn.safetensors")),
        images{load_images(folder, "train_idx.npy"), load_images(folder, "test_idx.npy")} {
    for (int i = 0; i < 2; ++i) logits[i] = forward(network, images[i].pixels);
  }

  Score operator()(const std::vector<Weights>& weights, Data data) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      Matrix& w = network.layers[i].weight;
      w = Eigen::Map<const Matrix>(weights[i].values.data(), w.rows(), w.cols());
    }
    const int on = data == Data::to_judge ? 1 : 0;
    const Matrix now = forward(network, images[on].pixels);
    const double correct = count_correct(now, images[on].labels);
    return {mean_divergence(logits[on], now), 100 * correct / static_cast<double>(now.rows())};
  }
};

}  // namespace

Task digits_task(const std::filesystem::path& data) {
  const auto scorer = std::make_shared<DigitScorer>(data / "digits");
  Task task{"digits CNN", "correct %", 2, {}, {}};
  for (const Layer& layer : scorer->network.layers)
    task.weights.push_back(weights_of(layer.name, layer.weight));
  task.score = [scorer](const std::vector<Weights>& weights, Data on) {
    return (*scorer)(weights, on);
  };
  return task;
}
