// SPDX-License-Identifier: MIT
#pragma once
// Int8Scaled: weights of int8 with scales beside them, as compressed-tensors stores them.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/grouped_tensor.hpp>
#include <tq/checkpoints/detail/saved_codes.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/containers/safetensors_writer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::checkpoints {

/// W int8; scales W_scale: one, [N, 1] or [N, G]; perhaps zero points W_zero_point.
struct Int8Scaled {
  static constexpr std::string_view name = "int8_scaled";
  static constexpr std::array<std::string_view, 1> marks{"scale"};
  static constexpr std::array<std::string_view, 2> part_names{"weight_scale", "weight_zero_point"};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    if (t.dtype != io::DType::i8 || !search.contains(t.name + "_scale")) return false;
    search.take(t.name, name,
                {{"weight", t.name},
                 {"scales", t.name + "_scale"},
                 {"zero points", t.name + "_zero_point"}},
                fill);
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    detail::GroupedParts<std::int8_t> of{detail::grouped_shape(parts.weight(), {}),
                                         parts.template bytes<std::int8_t>("weight"),
                                         parts.floats("scales"),
                                         {},
                                         {}};
    if (parts.has("zero points"))
      for (const std::int8_t z : parts.template bytes<std::int8_t>("zero points"))
        of.zero_points.push_back(z);
    return detail::signed_tensor<B>(8, std::move(of));
  }

  /// The parts of a weight with one scale for each output, of the type of the layer.
  [[nodiscard]] static std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) {
    return {{layer.module + ".weight", io::DType::i8, {layer.outputs, layer.inputs}},
            {layer.module + ".weight_scale", layer.dtype, {layer.outputs, 1}}};
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for a weight of another scheme, and
  /// for scales that the type of the layer does not hold.
  [[nodiscard]] static std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                    const CheckpointTensor& weight) {
    io::detail::require_codes_of(name, layer, weight, int8::name, 1, layer.inputs);
    const EncodedTensor& t = weight.tensor;
    return io::detail::saved_parts(
        declarations(layer),
        {io::detail::copied(t.codes.span()),
         io::detail::exact_bytes(name, "scales", t.scales.values(), layer.dtype)});
  }

 private:
  static void fill(io::CheckpointCandidate& found) {
    io::CheckpointWeight& w = found.weight;
    const io::TensorInfo &t = found.part("weight"), &s = found.part("scales");
    w.shape = t.shape;
    if (!found.require_matrix(t, io::DType::i8) || !found.require_scale_type(s)) return;
    const std::size_t n = t.shape[0], k = t.shape[1], scales = io::detail::count(s);
    const bool per_row = s.shape == std::vector<std::size_t>{n};
    if (scales != 1 && !per_row && (s.shape.size() != 2 || s.shape[0] != n))
      return void(found.misfit(s, "one scale, " + io::shape_text(std::vector<std::size_t>{n, 1}) +
                                      ", or one for each group of a row"));
    found.require_strategy(s);
    found.require_groups(k, scales == 1 || per_row ? 1 : s.shape[1]);
    if (found.has("zero points")) found.require("zero points", io::DType::i8, s.shape);
    w.dtype = io::detail::float_type(s.dtype);
    w.scheme = "int8 with scales" +
               (scales == 1 ? std::string(", per tensor") : io::detail::groups_text(w, k));
  }
};

}  // namespace tq::checkpoints
