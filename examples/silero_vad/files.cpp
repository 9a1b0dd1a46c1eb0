// SPDX-License-Identifier: MIT
#include "files.hpp"

#include <tq/containers/npy.hpp>
#include <tq/containers/safetensors.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Shape = std::vector<std::size_t>;

std::size_t extent(Index n) { return static_cast<std::size_t>(n); }

// A tensor of a shape as a matrix: its first axis by all others.
Matrix to_matrix(const std::string& name, const tq::io::Tensor& t, const Shape& shape) {
  if (t.shape != shape)
    throw std::runtime_error(name + ": expected shape " + tq::io::shape_text(shape) + ", got " +
                             tq::io::shape_text(t.shape));
  const std::vector<float> values = tq::io::to_float32(t);
  const auto rows = static_cast<Index>(shape[0]), size = static_cast<Index>(values.size());
  return Eigen::Map<const Matrix>(values.data(), rows, size / rows);
}

FloatDetector load_detector(const std::filesystem::path& file) {
  const auto tensors = tq::io::SafetensorsReader::open(file);
  const auto read = [&](const std::string& name, const Shape& shape) {
    return to_matrix(name, tensors.read(name), shape);
  };
  const auto conv = [&](const std::string& name, Index outputs, const ConvShape& s) {
    const Shape shape{extent(outputs), extent(s.channels), extent(s.length)};
    return FloatConv{s, read(name + ".weight", shape), read(name + ".bias", {extent(outputs)})};
  };
  const auto gates = [&](const std::string& name) {
    return FloatLinear{read("lstm_cell.weight_" + name, {512, 128}),
                       read("lstm_cell.bias_" + name, {512})};
  };
  return {{{1, 256, 128, 0}, read("stft_conv.weight", {258, 1, 256}), Vector::Zero(258)},
          {conv("conv1", 128, {129, 3, 1, 1}), conv("conv2", 64, {128, 3, 2, 1}),
           conv("conv3", 64, {64, 3, 2, 1}), conv("conv4", 128, {64, 3, 1, 1})},
          gates("ih"),
          gates("hh"),
          {read("final_conv.weight", {1, 128, 1}), read("final_conv.bias", {1})}};
}

}  // namespace

Recording load_recording(const std::filesystem::path& folder) {
  constexpr std::size_t samples = 512;
  const tq::io::Tensor known = tq::io::read_npy(folder / "prob.npy");
  const std::size_t chunks = known.shape.empty() ? 0 : known.shape[0];
  const Matrix sound = to_matrix("audio_int16.npy", tq::io::read_npy(folder / "audio_int16.npy"),
                                 {chunks * samples});
  return {load_detector(folder / "silero_vad_16k.safetensors"),
          sound.reshaped<Eigen::RowMajor>(static_cast<Index>(chunks), Index{samples}) / 32768.0f,
          to_matrix("prob.npy", known, {chunks})};
}
