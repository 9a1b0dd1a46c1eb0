// SPDX-License-Identifier: MIT
#pragma once
// Gptq: weights of GPTQ.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/grouped_tensor.hpp>
#include <tq/checkpoints/detail/qweight.hpp>
#include <tq/checkpoints/detail/saved_integers.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/integer_scheme.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/layouts/gptq.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq::checkpoints {

/// layer.qweight, layer.qzeros, layer.scales; perhaps layer.g_idx, the group of each input
/// (`tq::layouts::gptq`). Weights are unsigned integers with zero points; where g_idx is not in
/// order (desc_act), they have an input order.
struct Gptq {
  static constexpr std::string_view name = "gptq";
  static constexpr std::array<std::string_view, 1> marks{"qweight"}, part_names{".qzeros"};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    if (io::detail::leaf(t.name) != "qweight" || io::detail::is_awq(search, t)) return false;
    io::detail::take_qweight(search, t, name, false);
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    std::vector<std::int32_t> g_idx;
    if (parts.has("g_idx")) g_idx = parts.words("g_idx");
    const GroupedShape shape = detail::grouped_shape(parts.weight(), g_idx);
    const std::size_t k = shape.inputs, n = shape.outputs, groups = shape.groups();
    CheckpointTensor out;
    detail::with_width(TypeList<uint2, uint3, uint4, uint8>{}, parts.weight().bits,
                       [&]<class T>(std::type_identity<T>) {
                         std::vector<std::uint8_t> codes(k * n);
                         std::vector<std::int32_t> zeros(groups * n);
                         read_words<T>(parts, shape, codes, zeros);
                         out = detail::grouped_tensor<T, B>(
                             {shape, detail::transposed("codes", codes, k, n),
                              detail::transposed("scales", parts.floats("scales"), groups, n),
                              detail::transposed("zero points", zeros, groups, n), g_idx});
                       });
    return out;
  }

  /// The parts of a weight. Preconditions: K and N fill whole words, K whole groups.
  [[nodiscard]] static std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer,
                                                                const io::IntegerScheme& scheme) {
    const std::size_t n = layer.outputs, k = layer.inputs, groups = scheme.groups(layer),
                      bits = static_cast<std::size_t>(scheme.bits);
    return {{layer.module + ".qweight", io::DType::i32, {k * bits / 32, n}},
            {layer.module + ".qzeros", io::DType::i32, {groups, n * bits / 32}},
            {layer.module + ".scales", io::DType::f16, {groups, n}},
            {layer.module + ".g_idx", io::DType::i32, {k}}};
  }

  /// The parts of codes that exist, as Version: `layouts::gptq::V1` or `V2`. Throws:
  /// `errc::unsupported` for a weight of another scheme, and for scales that F16 does not hold;
  /// `errc::bad_zero_point` for zero points that the version does not store.
  template <Backend B, layouts::gptq::Version Version>
  [[nodiscard]] static std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                    const io::IntegerScheme& scheme,
                                                    const CheckpointTensor& weight) {
    io::detail::SavedIntegers parts = io::detail::saved_integers<B>(name, layer, scheme, weight);
    const std::size_t n = layer.outputs, k = layer.inputs, groups = scheme.groups(layer);
    const std::vector<std::int32_t> zeros =
        detail::transposed("zero points", parts.zero_points, n, groups);
    const std::string what = "zero points of checkpoint_format " + std::string(Version::name);
    std::vector<std::int32_t> qzeros, g_idx(k);
    detail::with_width(
        TypeList<uint2, uint3, uint4, uint8>{}, scheme.bits, [&]<class T>(std::type_identity<T>) {
          detail::require_codes<std::int32_t>(errc::bad_zero_point, "gptq", what.c_str(), zeros,
                                              Version::lowest_zero_point, T::qmax);
          qzeros.resize(detail::bit_fields<Version, T>::words(groups, n));
          detail::bit_fields<Version, T>::store(zeros.data(), groups, n, qzeros.data());
        });
    // A column of qweight is the stream of fields of an output: its row of words.
    const std::size_t words = k * static_cast<std::size_t>(scheme.bits) / 32;
    const std::vector<std::int32_t> qweight = detail::transposed(
        "words", io::values<std::int32_t>({{}, io::DType::i32, {n, words}, std::move(parts.codes)}),
        n, words);
    for (std::size_t i = 0; i < k; ++i)
      g_idx[i] = static_cast<std::int32_t>(i / scheme.group_inputs(layer));
    const std::vector<float> scales = detail::transposed("scales", parts.scales, n, groups);
    return io::detail::saved_parts(
        declarations(layer, scheme),
        {io::detail::bytes_of_values(std::span<const std::int32_t>(qweight)),
         io::detail::bytes_of_values(std::span<const std::int32_t>(qzeros)),
         io::detail::exact_bytes(name, "scales", scales, io::DType::f16),
         io::detail::bytes_of_values(std::span<const std::int32_t>(g_idx))});
  }

 private:
  template <class T, Backend B>
  static void read_words(const io::CheckpointParts<B>& parts, const GroupedShape& shape,
                         std::span<std::uint8_t> codes, std::span<std::int32_t> zeros) {
    const std::vector<std::int32_t> qweight = parts.words("weight"),
                                    qzeros = parts.words("zero points");
    if (parts.weight().is_gptq_v2)
      return layouts::gptq::load<T, layouts::gptq::V2>(shape, qweight, qzeros, codes, zeros);
    layouts::gptq::load<T, layouts::gptq::V1>(shape, qweight, qzeros, codes, zeros);
    // Symmetric weights have zero points of half the range, and no others do everywhere.
    constexpr std::int32_t half = 1 << (T::bits - 1);
    if (std::ranges::all_of(zeros, [](std::int32_t z) { return z == half + 1; }))
      tq::detail::raise_expected(
          errc::unsupported, "tq::io::load_checkpoint", {"zero points of checkpoint_format gptq"},
          {"qzeros of ", half,
           " everywhere, as gptq_v2 has them of symmetric weights; quantize_config.json or "
           "config.json beside the file says which"});
  }
};

}  // namespace tq::checkpoints
