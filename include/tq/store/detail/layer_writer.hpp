// SPDX-License-Identifier: MIT
#pragma once
// Takes the layers of a tensor to the output, in bands of rows.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/model_layer.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ptq/hessian.hpp>
#include <tq/ptq/weight_report.hpp>
#include <tq/store/detail/algorithm_coder.hpp>
#include <tq/store/detail/layers_job.hpp>
#include <tq/store/detail/shard_writer.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/float_reader.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// The largest magnitude; NaN or infinite where a value is.
[[nodiscard]] inline float largest_magnitude(std::span<const float> values) noexcept {
  std::uint32_t most = 0;  // magnitudes are ordered as their bits are
  for (const float x : values) most = std::max(most, std::bit_cast<std::uint32_t>(x) & 0x7fffffffu);
  return std::bit_cast<float>(most);
}

inline void require_finite(std::span<const float> values) {
  const float most = largest_magnitude(values);
  if (!std::isfinite(most))
    tq::detail::raise_expected(errc::not_finite, "", {"finite values"},
                               {std::isnan(most) ? "NaN" : "infinity"});
}

// Rows [begin, begin + rows) of a matrix, row-major: as they are read where they lie so, else
// gathered in `room`.
template <class Model>
std::span<const float> read_rows(FloatReader<Model>& floats, const StoredTensor& tensor,
                                 const io::MatrixPlace& place, std::size_t inputs,
                                 std::size_t begin, std::size_t rows, std::vector<float>& room) {
  const std::size_t at = place.first + begin * place.output_stride;
  if (place.is_dense(inputs)) return floats.all(tensor, {at, rows * inputs});
  room.resize(rows * inputs);
  float* const out = room.data();
  const auto read = [&](Stretch stretch, auto&& put) {
    floats.for_each(tensor, stretch, [&](std::size_t first, std::span<const float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) put(first + i, values[i]);
    });
  };
  if (place.input_stride == 1) {
    for (std::size_t r = 0; r < rows; ++r)
      read({at + r * place.output_stride, inputs},
           [&](std::size_t i, float x) { out[r * inputs + i] = x; });
  } else {  // the outputs of an input are neighbours
    for (std::size_t i = 0; i < inputs; ++i)
      read({at + i * place.input_stride, rows},
           [&](std::size_t r, float x) { out[r * inputs + i] = x; });
  }
  return room;
}

// Writes the parts of a layer band by band. Parts that do not grow with the rows are the same of
// every band, and written once.
class LayerParts {
 public:
  LayerParts(const LayersJob& job, const WrittenLayer& layer, ShardWriter& out)
      : layer_(layer), declared_(job.format->declarations(layer.weight)), out_(out) {
    for (const io::TensorDecl& part : declared_) left_.push_back(*part.bytes());
  }
  void append(const std::vector<io::Tensor>& parts) {
    require(parts.size() == declared_.size(), "as many parts as are declared");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      require(parts[i].name == declared_[i].name && parts[i].dtype == declared_[i].dtype,
              "part " + io::shown(declared_[i].name));
      if (left_[i] == 0) continue;
      require(parts[i].bytes.size() <= left_[i], "bytes for the shape of " + declared_[i].name);
      write(declared_[i], left_[i], parts[i].bytes);
      left_[i] -= parts[i].bytes.size();
    }
  }
  void finish() const {
    for (std::size_t i = 0; i < left_.size(); ++i)
      require(left_[i] == 0, "all bytes of " + declared_[i].name);
  }

 private:
  static void require(bool holds, const std::string& expected) {
    if (!holds)
      tq::detail::raise_text(errc::shape_mismatch, {"expected ", expected, " from the format"});
  }

  // `left`: bytes of the part that are not written yet.
  void write(const io::TensorDecl& part, std::uint64_t left, std::span<const std::byte> bytes) {
    if (!layer_.stack) return out_.append(part.name, bytes);
    const std::uint64_t end = (layer_.stack->number + 1) * *part.bytes();
    out_.place(layer_.stack->name(part, layer_.weight.module), end - left, bytes);
  }

  const WrittenLayer& layer_;
  std::vector<io::TensorDecl> declared_;
  std::vector<std::uint64_t> left_;
  ShardWriter& out_;
};

// Calls f(rows of the band, values [rows, inputs]) for the bands of a matrix.
template <class Model, class F>
void for_each_band(FloatReader<Model>& floats, const StoredTensor& tensor,
                   const WrittenLayer& layer, std::size_t band_rows, std::vector<float>& room,
                   F&& f) {
  const std::size_t outputs = layer.weight.outputs, inputs = layer.weight.inputs;
  const std::size_t matrices = std::max<std::size_t>(layer.weight.experts, 1);
  for (std::size_t e = 0; e < matrices; ++e) {
    io::MatrixPlace place = layer.place;
    place.first += e * place.expert_stride;
    for (std::size_t begin = 0; begin < outputs; begin += band_rows) {
      const std::size_t rows = std::min(band_rows, outputs - begin);
      f(rows, read_rows(floats, tensor, place, inputs, begin, rows, room));
    }
  }
}

// The parts of a weight of another program whose codes the format can hold as they are; nothing
// where it cannot. Throws: as load_checkpoint.
template <class Model>
[[nodiscard]] std::optional<std::vector<io::Tensor>> saved_parts(Model& model,
                                                                 const StoredTensor& tensor,
                                                                 const LayersJob& job) {
  if (!tensor.foreign || job.layers.size() != 1) return std::nullopt;
  const CheckpointTensor weight = model.foreign(tensor);
  try {
    return job.format->save(job.layers.front().weight, weight);
  } catch (const error& e) {
    if (e.code() != errc::unsupported) throw;
    return std::nullopt;
  }
}

// Quantizes a layer from its values; `coder` may be null.
template <class Model>
void write_layer(FloatReader<Model>& floats, const StoredTensor& tensor, const LayersJob& job,
                 const WrittenLayer& layer, const io::WeightCoder* coder, std::vector<float>& room,
                 LayerParts& parts) {
  for_each_band(floats, tensor, layer, job.band_rows(layer), room,
                [&](std::size_t rows, std::span<const float> x) {
                  require_finite(x);
                  io::LinearWeight band = layer.weight;
                  if (rows != band.outputs) band.band_of = std::exchange(band.outputs, rows);
                  Shape shape{rows, band.inputs};
                  if (band.experts != 0) shape = Shape{band.experts = 1, rows, band.inputs};
                  parts.append(job.format->quantize(band, ConstTensorView(x.data(), shape), coder));
                });
}

// The same by the algorithm of the layer, whose report it notes.
template <Backend B = default_backend, class Model>
void write_by_algorithm(FloatReader<Model>& floats, const StoredTensor& tensor,
                        const LayersJob& job, WrittenLayer& layer, const Hessians* hessians,
                        std::vector<float>& room, LayerParts& parts) {
  std::optional<Hessian> hessian;
  if (layer.algorithm->needs_hessian()) hessian = hessians->get(layer.algorithm->inputs);
  WeightReport report;
  const AlgorithmCoder<B> coder(*layer.algorithm, hessian ? &*hessian : nullptr, report);
  write_layer(floats, tensor, job, layer, &coder, room, parts);
  layer.report = report;
}

// Writes the layers of a tensor: codes that the format can hold, or else quantized values, by the
// algorithms of layers, which take `hessians`. Throws: errc::not_finite; as the format, the reader
// and the algorithm.
template <class Model>
void write_layers(Model& model, FloatReader<Model>& floats, const StoredTensor& tensor,
                  LayersJob& job, const Hessians* hessians, ShardWriter& out) {
  std::vector<float> room;
  const auto saved = naming(tensor.name, [&] { return saved_parts(model, tensor, job); });
  for (WrittenLayer& layer : job.layers)
    naming(layer.weight.module + ".weight", [&] {
      LayerParts parts(job, layer, out);
      if (saved) parts.append(*saved);
      else if (layer.algorithm)
        write_by_algorithm(floats, tensor, job, layer, hessians, room, parts);
      else write_layer(floats, tensor, job, layer, nullptr, room, parts);
      parts.finish();
    });
}

// The largest magnitude of each layer of a tensor. Throws: errc::not_finite.
template <class Model>
std::vector<float> magnitudes_of(FloatReader<Model>& floats, const StoredTensor& tensor,
                                 const LayersJob& job) {
  std::vector<float> room, most;
  for (const WrittenLayer& layer : job.layers) {
    most.push_back(0);
    for_each_band(floats, tensor, layer, job.band_rows(layer), room,
                  [&](std::size_t, std::span<const float> band) {
                    naming(tensor.name, [&] { require_finite(band); });
                    most.back() = std::max(most.back(), largest_magnitude(band));
                  });
  }
  return most;
}

}  // namespace tq::store::detail
