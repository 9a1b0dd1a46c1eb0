// SPDX-License-Identifier: MIT
#pragma once
// GroupedWeight: the weight of a linear layer as checkpoint formats hold it, in groups of inputs.

#include <tq/core/detail/require_parameters.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/make_params.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/detail/checks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// The extents of a weight of K inputs and N outputs with one scale per output and `group_size`
/// inputs; the last group of an output may be shorter. Where a format writes -1 for one group per
/// output, `group_size` is K.
struct GroupedShape {
  std::size_t inputs = 0;   ///< K
  std::size_t outputs = 0;  ///< N
  std::size_t group_size = 0;

  /// G = ceil(K / group_size). Precondition: `group_size` is at least 1.
  [[nodiscard]] constexpr std::size_t groups() const noexcept {
    return detail::blocks_along(inputs, group_size);
  }
  friend constexpr bool operator==(const GroupedShape&, const GroupedShape&) = default;
};

/// Parameters in groups along `Axis`: 0 for codes [K, N], 1 for codes [N, K].
template <IntegerElement Type, int Axis, SymmetryFor<Type> Symmetry>
using GroupedParams = QuantParams<Type, PerGroup<dynamic, Axis>, Symmetry>;

/// A loaded weight. Place i of `tensor` along its group axis is input `input_order[i]`: inputs are
/// sorted by group, so that groups are neighbours. Where they already were, `input_order` is empty.
///
/// Its values are those of the checkpoint, but for the sign of zeros. Parameters have positive
/// scales only: a group of scale 0, which checkpoints have for nothing but zeros, has scale 1 here
/// and every code at the zero point; one of a negative scale has its magnitude, and code and zero
/// point qmin + qmax - q and qmin + qmax - z.
template <AnyParams Params>
struct GroupedWeight {
  QuantizedTensor<Params, Unpacked> tensor;
  std::vector<std::size_t> input_order;
};

/// The inputs of a weight sorted by group, those of a group in their order: what puts the groups of
/// a format's `g_idx` (the group of each input; "act-order", "desc_act") next to each other.
/// Throws: `errc::shape_mismatch` unless `g_idx` has K entries; `errc::bad_argument` for an entry
/// outside [0, G); `errc::unsupported` unless every group but the last has `group_size` inputs;
/// `errc::bad_group_size`.
[[nodiscard]] inline std::vector<std::size_t> group_order(const GroupedShape& shape,
                                                          std::span<const std::int32_t> g_idx);

/// Writes the real values of a weight to `out`, with the inputs in the order of the checkpoint.
/// Options: an executor, a backend. Throws: `errc::shape_mismatch` unless `out` has as many
/// elements and the input order is empty or has K entries; `errc::bad_argument` when one of them is
/// no input. Nothing is written then.
template <IntegerParams Params, Option... O, Backend B = detail::backend_among<O...>>
void dequantize(const GroupedWeight<Params>& weight, std::span<float> out, const O&... options) {
  const Shape& shape = weight.tensor.shape();
  const std::vector<std::size_t>& order = weight.input_order;
  detail::require_size("tq::dequantize", "an output", shape.size(), out.size());
  if (order.empty()) {
    dequantize(weight.tensor, TensorView<float>(out.data(), shape), options...);
    return;
  }
  const int axis = *resolve_axis(weight.tensor.params().granularity().axis(), shape.rank());
  detail::require_size("tq::dequantize", "an input order", shape[axis], order.size());
  for (const std::size_t input : order)
    if (input >= order.size())
      detail::raise_expected(errc::bad_argument, "tq::dequantize",
                             {"inputs in [0, ", order.size(), ") in the input order"}, {input});
  const std::vector<float> sorted = dequantize(weight.tensor, options...);
  const std::size_t outer = shape.product(0, axis), inner = shape.product(axis + 1, shape.rank());
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t k = 0; k < inner; ++k)
        out[(o * order.size() + order[i]) * inner + k] = sorted[(o * order.size() + i) * inner + k];
}

/// The real values of a weight, row-major, with the inputs in the order of the checkpoint.
template <IntegerParams Params, Option... O, Backend B = detail::backend_among<O...>>
[[nodiscard]] std::vector<float> dequantize(const GroupedWeight<Params>& weight,
                                            const O&... options) {
  std::vector<float> out(weight.tensor.size());
  dequantize(weight, out, options...);
  return out;
}

namespace detail {

inline void require_grouped(const char* function, const GroupedShape& shape) {
  if (shape.group_size < 1 || shape.group_size > std::size_t{std::numeric_limits<int>::max()})
    raise_expected(errc::bad_group_size, function,
                   {"a group size in [1, ", std::numeric_limits<int>::max(), "]"},
                   {shape.group_size});
  static_cast<void>(require_product(function, "inputs and outputs", shape.inputs, shape.outputs));
}

// Lines of codes that have to fill whole words.
inline void require_multiple(const char* function, const char* what, std::size_t multiple,
                             std::size_t got) {
  if (got % multiple != 0)
    raise_expected(errc::bad_argument, function, {what, " in multiples of ", multiple}, {got});
}

// Whose scale i is, of scales [G, N] where the inputs come first, else [N, G].
struct GroupPlace {
  std::size_t group, output;
  GroupPlace(const GroupedShape& shape, bool inputs_first, std::size_t i) noexcept
      : group(inputs_first ? i / shape.outputs : i % shape.groups()),
        output(inputs_first ? i % shape.outputs : i / shape.groups()) {}
};

// Turns the scales and zero points of a checkpoint into those of parameters: scale 0 becomes 1, and
// a negative scale its magnitude, under a mirrored zero point. Returns the groups this happened to.
// Throws for scales that are not finite, and for negative ones without zero points.
template <IntegerElement T>
[[nodiscard]] std::vector<std::size_t> hold_scales(const char* function, const GroupedShape& shape,
                                                   bool inputs_first, std::span<float> scales,
                                                   std::span<std::int32_t> zero_points) {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    float& s = scales[i];
    if (valid_scale(s)) continue;
    const bool is_mirrored = valid_scale(-s) && !zero_points.empty();
    if (s != 0 && !is_mirrored) {
      const GroupPlace at(shape, inputs_first, i);
      raise_expected(errc::bad_scale, function,
                     {"finite scales", zero_points.empty() ? " that are not negative" : ""},
                     {s, " for group ", at.group, " of output ", at.output});
    }
    changed.push_back(i);
    if (is_mirrored) zero_points[i] = T::qmin + T::qmax - zero_points[i];
    s = is_mirrored ? -s : 1.0f;
  }
  return changed;
}

// The codes of groups that `hold_scales` changed, which lie as in parameters: those of scale 0
// become the zero point, and those of a negative scale are mirrored, for (qmin + qmax - q) - (qmin
// + qmax - z) = -(q - z).
template <IntegerElement T>
void regroup(const GroupedShape& shape, bool inputs_first, std::span<const std::size_t> groups,
             std::span<const float> scales, const auto& zero_points,
             std::span<typename T::code_type> codes) noexcept {
  for (const std::size_t i : groups) {
    const GroupPlace at(shape, inputs_first, i);
    const std::int32_t zero = zero_points.empty() ? 0 : zero_points[i];
    const std::size_t end = std::min((at.group + 1) * shape.group_size, shape.inputs);
    for (std::size_t k = at.group * shape.group_size; k < end; ++k) {
      auto& code =
          codes[inputs_first ? k * shape.outputs + at.output : at.output * shape.inputs + k];
      code = static_cast<typename T::code_type>(scales[i] == 0 ? zero : T::qmin + T::qmax - code);
    }
  }
}

// A weight from the scales and zero points of a checkpoint and load(codes), which writes the codes
// in its order. Its values are those of the checkpoint, but for the sign of zeros.
template <IntegerParams Params, class Load>
[[nodiscard]] GroupedWeight<Params> grouped_weight(const char* function, const GroupedShape& shape,
                                                   std::span<const float> scales,
                                                   std::vector<std::int32_t> zero_points,
                                                   std::span<const std::int32_t> g_idx,
                                                   Load&& load) {
  using T = typename Params::type;
  const typename Params::granularity_type granularity(static_cast<int>(shape.group_size));
  const bool inputs_first = granularity.axis() == 0;
  std::vector<float> held(scales.begin(), scales.end());
  const std::vector<std::size_t> changed =
      hold_scales<T>(function, shape, inputs_first, held, zero_points);

  const std::size_t k = shape.inputs, n = shape.outputs;
  std::vector<std::size_t> order;
  if (!g_idx.empty()) order = group_order(shape, g_idx);
  bool sorted = true;
  for (std::size_t i = 0; i < order.size(); ++i) sorted = sorted && order[i] == i;
  if (sorted) order.clear();

  GroupedWeight<Params> out{{inputs_first ? Shape{k, n} : Shape{n, k},
                             make_params<Params>(granularity, std::move(held), zero_points)},
                            std::move(order)};
  const std::span<typename Params::code_type> to = out.tensor.codes();
  if (out.input_order.empty()) {
    load(to);
  } else {
    std::vector<typename Params::code_type> from(to.size());
    load(std::span(from));
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const std::size_t source = out.input_order[i];
        to[inputs_first ? i * n + j : j * k + i] =
            from[inputs_first ? source * n + j : j * k + source];
      }
  }
  if constexpr (Params::has_zero_point)
    regroup<T>(shape, inputs_first, changed, scales, out.tensor.params().zero_points(), to);
  else regroup<T>(shape, inputs_first, changed, scales, std::span<const std::int32_t>(), to);
  return out;
}

}  // namespace detail

inline std::vector<std::size_t> group_order(const GroupedShape& shape,
                                            std::span<const std::int32_t> g_idx) {
  constexpr const char* function = "tq::group_order";
  detail::require_grouped(function, shape);
  detail::require_count(function, "entries of g_idx", shape.inputs, g_idx.size());
  const std::size_t groups = shape.groups();
  std::vector<std::size_t> next(groups);  // the place of the next input of each group
  for (std::size_t g = 0; g < groups; ++g) next[g] = g * shape.group_size;
  std::vector<std::size_t> order(g_idx.size());
  for (std::size_t i = 0; i < g_idx.size(); ++i) {
    if (g_idx[i] < 0 || static_cast<std::size_t>(g_idx[i]) >= groups)
      detail::raise_expected(errc::bad_argument, function, {"groups in [0, ", groups, ")"},
                             {g_idx[i], " for input ", i});
    const auto g = static_cast<std::size_t>(g_idx[i]);
    const std::size_t size = std::min(shape.group_size, shape.inputs - g * shape.group_size);
    if (next[g] == g * shape.group_size + size)  // then another group has too few
      detail::raise_expected(errc::unsupported, function, {size, " inputs in group ", g}, {"more"});
    order[next[g]++] = i;
  }
  return order;
}

}  // namespace tq
