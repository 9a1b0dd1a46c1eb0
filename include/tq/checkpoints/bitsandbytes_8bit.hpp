// SPDX-License-Identifier: MIT
#pragma once
// Bitsandbytes8Bit: 8-bit weights of bitsandbytes.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/saved_codes.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/core/scales.hpp>
#include <tq/layouts/bitsandbytes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::checkpoints {

/// W int8 and layer.SCB, the largest magnitude of each row; perhaps layer.weight_format.
/// real = W * SCB * (1 / 127), each step rounded, so weights have a factor.
struct Bitsandbytes8Bit {
  static constexpr std::string_view name = "bitsandbytes_8bit";
  static constexpr std::array<std::string_view, 1> marks{"SCB"}, part_names{".SCB"};
  static constexpr float reciprocal = 7.874015718698502e-3f;  ///< 1 / 127

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    const std::string base = io::detail::stem(t.name);
    if (io::detail::leaf(t.name) != "weight" || t.dtype != io::DType::i8 ||
        !search.contains(base + "SCB"))
      return false;
    search.take(t.name, name,
                {{"weight", t.name}, {"scales", base + "SCB"}, {"layout", base + "weight_format"}},
                fill);
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    std::vector<float> scb = parts.floats("scales");
    detail::require_absmax("tq::io::load_checkpoint", "SCB", scb);
    CheckpointTensor out;
    out.factors.assign(1, reciprocal);
    if (std::ranges::find(scb, 0.0f) != scb.end()) {  // integers have no scale of 0
      out.factors.assign(scb.size(), reciprocal);
      for (std::size_t i = 0; i < scb.size(); ++i)
        if (scb[i] == 0) out.factors[i] = std::exchange(scb[i], 1.0f);
    }
    out.tensor.shape = Shape(std::span<const std::size_t>(parts.weight().shape));
    out.tensor.codes = parts.codes("weight");
    out.tensor.scales = Scales<float>(std::move(scb));
    return out;
  }

  /// The parts of a weight.
  [[nodiscard]] static std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) {
    return {{layer.module + ".weight", io::DType::i8, {layer.outputs, layer.inputs}},
            {layer.module + ".SCB", io::DType::f32, {layer.outputs}},
            {layer.module + ".weight_format", io::DType::u8, {}}};
  }

  /// The parts of codes that exist: int8 with magnitudes as scales and the factor 1 / 127, or 0 for
  /// a row of zeros. Throws: `errc::unsupported` for a weight of another scheme.
  [[nodiscard]] static std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                    const CheckpointTensor& weight) {
    CheckpointTensor plain{weight.tensor, weight.input_order, weight.codebook};
    io::detail::require_codes_of(name, layer, plain, int8::name, 1, layer.inputs);
    std::vector<float> scb = weight.tensor.scales.values();
    const std::vector<float>& factors = weight.factors;
    for (std::size_t i = 0; i < scb.size(); ++i) {
      const float factor = factors.empty()       ? 1.0f
                           : factors.size() == 1 ? factors[0]
                                                 : factors.at(i);
      if (factor != reciprocal && factor != 0)
        io::detail::refuse_saving(name, "factors of 1 / 127", detail::number_text(factor));
      if (factor == 0) scb[i] = 0;
    }
    return io::detail::saved_parts(
        declarations(layer),
        {io::detail::copied(weight.tensor.codes.span()),
         io::detail::bytes_of_values(std::span<const float>(scb)), io::detail::Bytes(1)});
  }

 private:
  static void fill(io::CheckpointCandidate& found) {
    io::CheckpointWeight& w = found.weight;
    const io::TensorInfo& t = found.part("weight");
    w.shape = t.shape;
    if (!found.require_matrix(t, io::DType::i8)) return;
    found.require("scales", io::DType::f32, {t.shape[0]});
    if (found.has("layout")) {
      const io::TensorInfo& layout = found.part("layout");
      for (const std::byte b : found.read(layout).bytes)
        if (b != std::byte{0})
          found.problem(io::detail::shown(layout.name) + ": expected rows (0), got layout " +
                        std::to_string(std::to_integer<int>(b)));
    }
    w.dtype = io::DType::f16;
    w.scheme = "bitsandbytes int8, per row";
  }
};

}  // namespace tq::checkpoints
