// SPDX-License-Identifier: MIT
#pragma once
// Awq: weights of AWQ.

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
#include <tq/layouts/awq.hpp>
#include <tq/ops/pack.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::checkpoints {

/// layer.qweight, layer.qzeros, layer.scales, of which qweight is packed along the outputs
/// (`tq::layouts::awq`). Weights are uint4 with zero points.
struct Awq {
  static constexpr std::string_view name = "awq";
  static constexpr std::array<std::string_view, 1> marks{"qweight"}, part_names{".qzeros"};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    if (io::detail::leaf(t.name) != "qweight" || !io::detail::is_awq(search, t)) return false;
    io::detail::take_qweight(search, t, name, true);
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    const GroupedShape shape = detail::grouped_shape(parts.weight(), {});
    const std::size_t k = shape.inputs, n = shape.outputs, groups = shape.groups();
    std::vector<std::uint8_t> codes(k * n);
    std::vector<std::int32_t> zeros(groups * n);
    layouts::awq::load(shape, parts.words("weight"), parts.words("zero points"), codes, zeros);
    return detail::grouped_tensor<uint4, B>(
        {shape,
         detail::transposed("codes", codes, k, n),
         detail::transposed("scales", parts.floats("scales"), groups, n),
         detail::transposed("zero points", zeros, groups, n),
         {}});
  }

  /// The parts of a weight of 4 bits. Preconditions: N is a multiple of 8, K fills whole groups.
  [[nodiscard]] static std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer,
                                                                const io::IntegerScheme& scheme) {
    const std::size_t n = layer.outputs, k = layer.inputs, groups = scheme.groups(layer);
    return {{layer.module + ".qweight", io::DType::i32, {k, n / 8}},
            {layer.module + ".qzeros", io::DType::i32, {groups, n / 8}},
            {layer.module + ".scales", io::DType::f16, {groups, n}}};
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for a weight of another scheme, and
  /// for scales that F16 does not hold.
  template <Backend B>
  [[nodiscard]] static std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                    const io::IntegerScheme& scheme,
                                                    const CheckpointTensor& weight) {
    const io::detail::SavedIntegers parts =
        io::detail::saved_integers<B>(name, layer, scheme, weight);
    const std::size_t n = layer.outputs, k = layer.inputs, groups = scheme.groups(layer);
    const std::vector<std::int32_t> zeros =
        detail::transposed("zero points", parts.zero_points, n, groups);
    using fields = detail::bit_fields<layouts::awq::Gemm, uint4>;
    std::vector<std::int32_t> qzeros(fields::words(groups, n));
    fields::store(zeros.data(), groups, n, qzeros.data());
    std::vector<std::uint8_t> codes(n * k);
    unpack_unchecked<uint4, LowFirst, B>(parts.codes, codes);
    codes = detail::transposed("codes", codes, n, k, &layouts::awq::Gemm::slot);
    io::detail::Bytes qweight(codes.size() / 2);
    pack_unchecked<uint4, LowFirst, B>(codes, qweight);
    const std::vector<float> scales = detail::transposed("scales", parts.scales, n, groups);
    return io::detail::saved_parts(
        declarations(layer, scheme),
        {std::move(qweight), io::detail::bytes_of_values(std::span<const std::int32_t>(qzeros)),
         io::detail::exact_bytes(name, "scales", scales, io::DType::f16)});
  }
};

}  // namespace tq::checkpoints
