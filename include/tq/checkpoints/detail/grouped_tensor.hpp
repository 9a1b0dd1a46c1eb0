// SPDX-License-Identifier: MIT
#pragma once
// Integer weights in groups of inputs, from the codes, scales and zero points of a checkpoint.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/checkpoints/detail/transposed.hpp>
#include <tq/core/element.hpp>
#include <tq/core/element_lists.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/zero_points.hpp>
#include <tq/error.hpp>
#include <tq/layouts/grouped_weight.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq::detail {

// Calls f(std::type_identity<T>{}) for the first listed type of so many bits.
template <class... Ts, class F>
void with_width(TypeList<Ts...>, int bits, F&& f) {
  const bool is_listed = ((Ts::bits == bits && (f(std::type_identity<Ts>{}), true)) || ...);
  if (!is_listed)
    raise_expected(errc::unsupported, "tq::io::load_checkpoint",
                   {"codes of a width that the format has"}, {bits, " bits"});
}

// The groups of a matrix [outputs, inputs]; where the group size is not known, g_idx tells it:
// group 0 is full. Throws: `errc::bad_group_size`; `errc::bad_argument` where the product
// overflows.
[[nodiscard]] inline GroupedShape grouped_shape(const io::CheckpointWeight& weight,
                                                std::span<const std::int32_t> g_idx) {
  std::size_t size = weight.group_size;
  if (size == 0) size = static_cast<std::size_t>(std::count(g_idx.begin(), g_idx.end(), 0));
  const GroupedShape shape{weight.shape.at(1), weight.shape.at(0), std::max(size, std::size_t{1})};
  require_grouped("tq::io::load_checkpoint", shape);
  return shape;
}

// The parts of a weight as its format has them.
template <class Code>
struct GroupedParts {
  GroupedShape shape;
  std::vector<Code> codes;                // [N, K]
  std::vector<float> scales;              // [N, G]
  std::vector<std::int32_t> zero_points;  // [N, G], or none where all are 0
  std::span<const std::int32_t> g_idx;    // the group of each input, or none
};

// Sorts the inputs of the codes by group, and fills `order` unless they were sorted.
template <class Code>
void sort_inputs(GroupedParts<Code>& parts, std::vector<std::size_t>& order) {
  if (parts.g_idx.empty()) return;
  order = group_order(parts.shape, parts.g_idx);
  if (std::ranges::is_sorted(order)) return order.clear();
  std::vector<Code> row(order.size());
  for (auto at = parts.codes.begin(); at != parts.codes.end(); at += std::ssize(row)) {
    std::copy_n(at, row.size(), row.begin());
    for (std::size_t i = 0; i < row.size(); ++i) at[static_cast<std::ptrdiff_t>(i)] = row[order[i]];
  }
}

// A weight of elements T. Parameters have positive scales only: a group of scale 0 has scale 1 and
// every code at its zero point, one of a negative scale is mirrored. Throws: `errc::bad_scale` for
// scales that are not finite; `errc::bad_zero_point`; as `group_order`.
template <IntegerElement T, Backend B>
[[nodiscard]] CheckpointTensor grouped_tensor(GroupedParts<typename T::code_type> parts) {
  constexpr const char* function = "tq::io::load_checkpoint";
  const GroupedShape& shape = parts.shape;
  const std::size_t count = shape.groups() * shape.outputs;
  require_count(function, "codes", shape.inputs * shape.outputs, parts.codes.size());
  require_count(function, "scales", count, parts.scales.size());
  const bool is_mirrored = std::ranges::any_of(parts.scales, [](float s) { return s < 0; });
  if (parts.zero_points.empty() && is_mirrored) parts.zero_points.resize(count);
  std::vector<std::int32_t>& zeros = parts.zero_points;
  if (!zeros.empty()) require_count(function, "zero points", count, zeros.size());
  require_codes(errc::bad_zero_point, function, "zero points", std::span<const std::int32_t>(zeros),
                T::qmin, T::qmax);

  CheckpointTensor out;
  std::vector<float> held = parts.scales;
  const auto changed = hold_scales<T>(function, shape, false, held, zeros);
  sort_inputs(parts, out.input_order);
  regroup<T>(shape, false, changed, parts.scales, zeros, parts.codes);

  EncodedTensor& t = out.tensor;
  t.spec.type = T::name;
  t.spec.symmetry = zeros.empty() ? Symmetric::name : Asymmetric::name;
  if (shape.groups() > 1) {
    t.spec.granularity = PerGroup<>::name;
    t.spec.group_size = static_cast<int>(shape.group_size);
  }
  t.shape = {shape.outputs, shape.inputs};
  t.codes = Buffer<std::byte>(LowFirst::bytes_for<T>(parts.codes.size()));
  pack_unchecked<T, LowFirst, B>(parts.codes, t.codes.span());
  t.scales = Scales<float>(std::move(held));
  if (!zeros.empty()) t.zero_points = ZeroPoints<T>(zeros);
  return out;
}

// Signed codes of so many bits, or of 8 where zero points need them. One scale, or one zero point,
// is that of all groups.
template <Backend B>
[[nodiscard]] CheckpointTensor signed_tensor(int bits, GroupedParts<std::int8_t> parts) {
  const std::size_t count = parts.shape.groups() * parts.shape.outputs;
  if (parts.scales.size() == 1) parts.scales.resize(count, parts.scales[0]);
  if (parts.zero_points.size() == 1) parts.zero_points.resize(count, parts.zero_points[0]);
  const std::int32_t half = 1 << (bits - 1);
  for (const std::int32_t z : parts.zero_points)
    if (z < -half || z >= half) bits = 8;
  CheckpointTensor out;
  with_width(TypeList<int2, int3, int4, int5, int6, int7, int8>{}, std::max(bits, 2),
             [&]<class T>(std::type_identity<T>) { out = grouped_tensor<T, B>(std::move(parts)); });
  return out;
}

}  // namespace tq::detail
