// SPDX-License-Identifier: MIT
#pragma once
// The digits and the networks from their files: .npy and .safetensors into Eigen matrices.

#include "network.hpp"

#include <tq/containers/npy.hpp>
#include <tq/containers/safetensors.hpp>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

/// A tensor as a matrix: its first axis by all others.
inline Matrix to_matrix(const tq::io::Tensor& t) {
  const std::vector<float> values = tq::io::to_float32(t);
  const auto size = static_cast<Index>(values.size());
  const Index rows = t.shape.empty() ? 1 : static_cast<Index>(t.shape[0]);
  return Eigen::Map<const Matrix>(values.data(), rows, rows == 0 ? 0 : size / rows);
}

/// Images as rows of 64 values from 0 to 1, and what they show.
struct Images {
  Matrix pixels;
  std::vector<int> labels;
};

/// The images of `folder` that the index file names.
inline Images load_images(const std::filesystem::path& folder, const std::string& index_file) {
  const Matrix pixels = to_matrix(tq::io::read_npy(folder / "images_u8.npy")) / 16.0f;
  const Matrix labels = to_matrix(tq::io::read_npy(folder / "labels.npy"));
  const Matrix index = to_matrix(tq::io::read_npy(folder / index_file));
  Images images{Matrix(index.rows(), pixels.cols()), {}};
  for (Index i = 0; i < index.rows(); ++i) {
    const auto from = static_cast<Index>(index(i, 0));
    images.pixels.row(i) = pixels.row(from);
    images.labels.push_back(static_cast<int>(labels(from, 0)));
  }
  return images;
}

/// The layers conv1, conv2, ..., fc1, ... (or fc) of a file, with their biases or batch norms.
inline Network load_network(const std::filesystem::path& file) {
  const auto tensors = tq::io::SafetensorsReader::open(file);
  const auto vector = [&](const std::string& name) -> Eigen::VectorXf {
    return to_matrix(tensors.read(name));
  };
  Network net{file.stem().string(), {}};
  Index side = 8;
  for (const char* name : {"conv1", "conv2", "fc", "fc1", "fc2", "fc3"}) {
    const std::string layer_name = name, number = layer_name.substr(layer_name.size() - 1);
    if (!tensors.contains(layer_name + ".weight")) continue;
    Layer layer{layer_name, to_matrix(tensors.read(layer_name + ".weight")), {}, {}};
    if (tensors.contains(layer_name + ".bias")) {
      layer.shift = vector(layer_name + ".bias");
    } else {  // batch norm: (y - mean) / sqrt(variance + 1e-5) * weight + bias
      const std::string norm = "bn" + number;
      const Eigen::ArrayXf deviation = (vector(norm + ".running_var").array() + 1e-5f).sqrt();
      layer.scale = vector(norm + ".weight").array() / deviation;
      layer.shift =
          vector(norm + ".bias") - layer.scale.cwiseProduct(vector(norm + ".running_mean"));
    }
    if (layer_name.starts_with("conv")) {
      layer.side = side;
      side /= 2;
    }
    net.layers.push_back(layer);
  }
  net.layers.back().relu = false;
  return net;
}
