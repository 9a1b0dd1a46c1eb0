// SPDX-License-Identifier: MIT
#pragma once
// CompressedTensors: integers that compressed-tensors packs in words of 32 bits.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/grouped_tensor.hpp>
#include <tq/checkpoints/detail/saved_integers.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/detail/weight_packed.hpp>
#include <tq/checkpoints/integer_scheme.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/layouts/compressed_tensors.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq::checkpoints {

/// layer.weight_packed int32, layer.weight_scale, layer.weight_shape; perhaps
/// layer.weight_zero_point, layer.weight_g_idx (`tq::layouts::compressed_tensors`).
struct CompressedTensors {
  static constexpr std::string_view name = "compressed_tensors";
  static constexpr std::array<std::string_view, 1> marks{"weight_packed"};
  static constexpr std::array<std::string_view, 4> part_names{"weight_scale", "weight_shape",
                                                              "weight_g_idx", "weight_zero_point"};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    if (io::detail::leaf(t.name) != "weight_packed" || t.dtype == io::DType::u8) return false;
    io::detail::take_weight_packed(search, t, name, fill);
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    std::vector<std::int32_t> g_idx;
    if (parts.has("g_idx")) g_idx = parts.words("g_idx");
    const GroupedShape shape = detail::grouped_shape(parts.weight(), g_idx);
    detail::GroupedParts<std::int8_t> of{shape,
                                         std::vector<std::int8_t>(shape.inputs * shape.outputs),
                                         parts.floats("scales"),
                                         {},
                                         detail::used_g_idx(g_idx)};
    detail::with_width(
        TypeList<layouts::compressed_tensors::int1, int2, int3, int4, int5, int6, int7, int8>{},
        parts.weight().bits, [&]<class T>(std::type_identity<T>) {
          layouts::compressed_tensors::load<T, 1>(shape.outputs, shape.inputs,
                                                  parts.words("weight"), of.codes);
          if (parts.has("zero points")) of.zero_points = zero_points<T>(parts, shape);
        });
    return detail::signed_tensor<B>(parts.weight().bits, std::move(of));
  }

  /// The parts of a weight. Precondition: rows of codes, and columns of zero points, fill words.
  [[nodiscard]] static std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer,
                                                                const io::IntegerScheme& scheme) {
    const std::size_t n = layer.outputs, groups = scheme.groups(layer),
                      width = static_cast<std::size_t>(scheme.bits);
    std::vector<io::TensorDecl> out{
        {layer.module + ".weight_packed", io::DType::i32, {n, words(layer.inputs, width)}},
        {layer.module + ".weight_scale", layer.dtype, {n, groups}},
        {layer.module + ".weight_shape", io::DType::i64, {2}}};
    if (!scheme.is_symmetric)
      out.push_back(
          {layer.module + ".weight_zero_point", io::DType::i32, {words(n, width), groups}});
    return out;
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for a weight of another scheme, and
  /// for scales that the type of the layer does not hold.
  template <Backend B>
  [[nodiscard]] static std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                    const io::IntegerScheme& scheme,
                                                    const CheckpointTensor& weight) {
    constexpr std::string_view format = "compressed-tensors";
    io::detail::SavedIntegers parts = io::detail::saved_integers<B>(format, layer, scheme, weight);
    const std::size_t outputs = layer.band_of != 0 ? layer.band_of : layer.outputs;
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(outputs),
                                          static_cast<std::int64_t>(layer.inputs)};
    std::vector<io::detail::Bytes> bytes{
        std::move(parts.codes),  // whose rows fill words: the stream of fields is the words
        io::detail::exact_bytes(format, "scales", parts.scales, layer.dtype),
        io::detail::bytes_of_values(std::span(shape))};
    if (!scheme.is_symmetric) bytes.push_back(stored_zero_points(layer, scheme, parts.zero_points));
    return io::detail::saved_parts(declarations(layer, scheme), std::move(bytes));
  }

 private:
  // Zero points as unsigned codes, packed along the outputs.
  [[nodiscard]] static io::detail::Bytes stored_zero_points(
      const io::LinearWeight& layer, const io::IntegerScheme& scheme,
      std::span<const std::int32_t> zero_points) {
    const std::size_t n = layer.outputs, groups = scheme.groups(layer);
    std::vector<std::int32_t> out(words(n, static_cast<std::size_t>(scheme.bits)) * groups);
    detail::with_width(TypeList<uint4, uint8>{}, scheme.bits, [&]<class T>(std::type_identity<T>) {
      detail::bit_fields<DenseFields<std::int32_t, 0>, T>::store(zero_points.data(), n, groups,
                                                                 out.data());
    });
    return io::detail::bytes_of_values(std::span<const std::int32_t>(out));
  }
  template <class T, Backend B>
  [[nodiscard]] static std::vector<std::int32_t> zero_points(const io::CheckpointParts<B>& parts,
                                                             const GroupedShape& shape) {
    std::vector<std::int32_t> out(shape.groups() * shape.outputs);
    const io::Tensor stored = parts.tensor("zero points");
    if (stored.dtype == io::DType::i8) {
      const std::vector<std::int8_t> bytes = io::values<std::int8_t>(stored);
      out.assign(bytes.begin(), bytes.end());
    } else {
      layouts::compressed_tensors::load<T, 0, std::int32_t>(shape.outputs, shape.groups(),
                                                            io::values<std::int32_t>(stored), out);
    }
    return out;
  }

  // The second of the two extents in weight_shape, of which the first are the rows; 0 after a
  // problem.
  [[nodiscard]] static std::size_t packed_inputs(io::CheckpointCandidate& found,
                                                 const io::TensorInfo& shape, std::size_t rows) {
    if (shape.name.empty()) return 0;
    std::vector<std::int64_t> extents;
    if (shape.dtype == io::DType::i64) extents = io::values<std::int64_t>(found.read(shape));
    if (shape.dtype == io::DType::i32)
      for (const std::int32_t e : io::values<std::int32_t>(found.read(shape))) extents.push_back(e);
    if (extents.size() != 2) {
      found.misfit(shape, "two extents of I64 or I32");
      return 0;
    }
    if (extents[0] == static_cast<std::int64_t>(rows) && extents[1] > 0)
      return static_cast<std::size_t>(extents[1]);
    found.problem(io::detail::shown(shape.name) + ": expected a weight of " + std::to_string(rows) +
                  " rows, got [" + std::to_string(extents[0]) + ", " + std::to_string(extents[1]) +
                  "]");
    return 0;
  }

  static std::size_t words(std::size_t fields, std::size_t width) {
    return detail::units_for(detail::product_or_most(fields, width), 32);
  }

  // The one width of which rows of so many codes have that many words; 0 after a problem.
  [[nodiscard]] static std::size_t code_width(io::CheckpointCandidate& found,
                                              const io::TensorInfo& t, std::size_t inputs) {
    std::vector<std::size_t> widths;
    for (std::size_t b = 1; b <= 8; ++b)
      if (words(inputs, b) == t.shape[1]) widths.push_back(b);
    if (widths.size() != 1) {
      found.misfit(t, "words of codes of 1 to 8 bits for rows of " + std::to_string(inputs));
      return 0;
    }
    const std::set<std::size_t>& said = found.hints().widths;
    if (said.empty() || said.contains(widths[0])) return widths[0];
    std::string text;
    for (const std::size_t b : said) text += (text.empty() ? "" : " or ") + std::to_string(b);
    found.misfit(t, "codes of " + text + " bits without gaps, as config.json says num_bits");
    return 0;
  }

  static void fill(io::CheckpointCandidate& found) {
    io::CheckpointWeight& w = found.weight;
    const io::TensorInfo &t = found.part("weight"), &s = found.part("scales"),
                         &shape = found.part("shape");
    if (!found.require_matrix(t, io::DType::i32) || !found.require_scale_type(s)) return;
    const std::size_t n = t.shape[0], k = packed_inputs(found, shape, n);
    if (k == 0) return;
    const std::size_t width = code_width(found, t, k);
    if (width == 0) return;
    w.shape = {n, k};
    w.bits = static_cast<int>(width);
    if (s.shape.size() != 2 || s.shape[0] != n || s.shape[1] == 0)
      return void(found.misfit(s, "scales of [" + std::to_string(n) + ", groups]"));
    found.require_strategy(s);
    found.require_groups(k, s.shape[1]);
    if (found.has("zero points")) {
      if (found.part("zero points").dtype == io::DType::i8)
        found.require("zero points", io::DType::i8, s.shape);
      else found.require("zero points", io::DType::i32, {words(n, width), s.shape[1]});
    }
    if (found.has("g_idx")) found.require("g_idx", io::DType::i32, {k});
    w.dtype = io::detail::float_type(s.dtype);
    w.scheme = "compressed-tensors int" + std::to_string(w.bits) + io::detail::groups_text(w, k);
  }
};

}  // namespace tq::checkpoints
