// SPDX-License-Identifier: MIT
#pragma once
// LayersJob: the layers of other programs that a tensor becomes.

#include <tq/checkpoints/model_layer.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/ptq/weight_report.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/chosen_algorithm.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Where the weight of an expert is in the tensors of all experts of its layer.
struct StackPlace {
  std::string module;      // of the stack
  std::size_t number = 0;  // of the expert
  std::size_t count = 0;   // of experts

  // The tensor of all experts for a part of this expert's weight. The first expert declares it.
  [[nodiscard]] std::string name(const io::TensorDecl& part, const std::string& own) const {
    return module + part.name.substr(own.size());
  }
};

// A layer, and where its matrix is.
struct WrittenLayer {
  io::LinearWeight weight;
  io::MatrixPlace place;
  std::string scale_set, set;                  // as those of ModelLayer
  std::optional<WeightAlgorithm> algorithm{};  // its `inputs` are named, if it takes a Hessian
  std::optional<WeightReport> report{};  // of the algorithm, once it was at work; or a fallback
  std::optional<StackPlace> stack{};     // if its parts are in tensors of all experts

  [[nodiscard]] std::uint64_t elements() const {
    return std::uint64_t{weight.outputs} * weight.inputs * std::max<std::size_t>(weight.experts, 1);
  }
};

// A tensor on its way to a format: one layer, or those of fused experts.
struct LayersJob {
  // Elements of which a thread holds values. A band has no more where the format allows it. So few
  // stay in the second cache, and memory for them is not asked from the system again and again.
  static constexpr std::size_t most_held = 4 * piece_size;

  std::shared_ptr<const AnyFormat> format;
  std::vector<WrittenLayer> layers{};

  [[nodiscard]] std::vector<io::TensorDecl> declarations() const {
    std::vector<io::TensorDecl> all;
    for (const WrittenLayer& layer : layers)
      for (io::TensorDecl& part : declarations(layer)) all.push_back(std::move(part));
    return all;
  }
  // The tensors that a layer adds to the file: the first expert those of its stack.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const WrittenLayer& layer) const {
    if (layer.stack && layer.stack->number != 0) return {};
    std::vector<io::TensorDecl> parts = format->declarations(layer.weight);
    if (layer.stack)
      for (io::TensorDecl& part : parts) {
        part.name = layer.stack->name(part, layer.weight.module);
        part.shape.insert(part.shape.begin(), layer.stack->count);
      }
    return parts;
  }
  // The bytes of the parts of all layers.
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const WrittenLayer& layer : layers)
      for (const io::TensorDecl& part : format->declarations(layer.weight)) sum += *part.bytes();
    return sum;
  }
  [[nodiscard]] bool has_algorithm() const {
    return std::ranges::any_of(layers,
                               [](const WrittenLayer& l) { return l.algorithm.has_value(); });
  }
  // Rows of a layer that are quantized at once. Columns that are far apart are read together.
  [[nodiscard]] std::size_t band_rows(const WrittenLayer& layer) const {
    const std::size_t fewest = format->rows_at_once(layer.weight), all = layer.weight.outputs;
    if (layer.algorithm || fewest == 0 || layer.place.input_stride != 1 ||
        layer.weight.experts != 0)
      return all;
    const std::size_t held = most_held / std::max<std::size_t>(layer.weight.inputs, 1);
    return std::min(all, std::max(fewest, held / fewest * fewest));
  }
  // Values, parts and the codes between them; all values of a tensor that is quantized already.
  [[nodiscard]] std::uint64_t working_bytes(const StoredTensor& source) const {
    std::uint64_t most = 0;
    std::uint64_t of_algorithm = 0;
    for (const WrittenLayer& layer : layers) {
      most = std::max(most, std::uint64_t{band_rows(layer)} * layer.weight.inputs);
      if (layer.algorithm)
        of_algorithm = std::max(
            of_algorithm, algorithm_bytes(*layer.algorithm, layer.weight.inputs, layer.elements()));
    }
    const std::uint64_t decoded =
        source.foreign ? source.bytes + 2 * sizeof(float) * source.elements() : 0;
    return 2 * sizeof(float) * most + of_algorithm + decoded;
  }
};

}  // namespace tq::store::detail
