// SPDX-License-Identifier: MIT
#pragma once
// SampleProduct: the product that weights of a scheme take part in, by weights that are made up.

#include <tq/core/detail/sizes.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/make_params.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/float_linear.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/quantized_linear.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/visit.hpp>
#include <tq/select/detail/product_shape.hpp>
#include <tq/select/precision_model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace tq {

/// A product that runs, of weights that are made up: which does not show in its time.
struct SampleProduct {
  TimedWork work = TimedWork::decoded_product;  ///< this one: nothing multiplies by such weights
  std::function<void()> multiply{};             ///< nothing then
};

namespace detail {

// A layer with rows of activations and room for its results.
template <class Arch, class Layer>
[[nodiscard]] std::function<void()> runnable(Layer layer, std::size_t rows, ProductShape size) {
  struct State {
    Layer layer;
    std::vector<float> x, y;
  };
  const auto state = std::make_shared<State>(State{std::move(layer), {}, {}});
  state->x.resize(require_product("tq::sample_product", "rows of inputs", rows, size.inputs));
  state->y.resize(require_product("tq::sample_product", "rows of outputs", rows, size.outputs));
  for (std::size_t i = 0; i < state->x.size(); ++i)
    state->x[i] = static_cast<float>(i % 251) - 125.0f;
  return [state, rows, size] {
    state->layer.template forward<Arch>(ConstTensorView(state->x.data(), {rows, size.inputs}),
                                        TensorView<float>(state->y.data(), {rows, size.outputs}));
  };
}

// Weights whose zero points, where there are any, differ.
template <class Params>
[[nodiscard]] QuantizedTensor<Params, Unpacked> sample_weights(
    const typename Params::granularity_type& granularity, ProductShape size) {
  const Shape shape{size.outputs, size.inputs};
  static_cast<void>(require_extents("tq::sample_product", shape));
  std::vector<float> scales(param_count(granularity, shape), 0.5f);
  std::vector<std::int32_t> zeros(Params::has_zero_point ? scales.size() : 0);
  for (std::size_t i = 0; i < zeros.size(); ++i)
    zeros[i] = i % 2 == 0 ? Params::codes.min : Params::codes.max;
  QuantizedTensor<Params, Unpacked> out(shape,
                                        make_params<Params>(granularity, std::move(scales), zeros));
  std::ranges::fill(out.codes(), static_cast<typename Params::code_type>(Params::codes.max));
  return out;
}

template <class T, class S, class Arch>
[[nodiscard]] SampleProduct product_of_type(std::size_t rows, ProductShape size) {
  // A group is packed as 16 inputs or more, which shorter ones leave empty.
  constexpr std::size_t shortest = 16, longest = 65536;
  const bool whole_rows = size.group == size.inputs;
  if constexpr (OffsetSymmetry<S>) {
    return {};
  } else {
    if constexpr (IntegerElement<T> && T::bits == 8)
      if (whole_rows)
        return {TimedWork::int8_product,
                runnable<Arch>(
                    QuantizedLinear<>(sample_weights<QuantParams<T, PerChannel<0>, S>>({}, size)),
                    rows, size)};
    if constexpr (GroupedElement<T>) {
      if (size.group > longest || (size.group < shortest && !whole_rows)) return {};
      using Params = QuantParams<T, PerGroup<dynamic, 1>, S>;
      GroupedWeights weights(
          sample_weights<Params>(PerGroup<dynamic, 1>(static_cast<int>(size.group)), size));
      if constexpr (WeightLevels::of<T>().has_levels)
        return {TimedWork::grouped_int8_product,
                runnable<Arch>(GroupedLinear<Int8PerRow>(std::move(weights)), rows, size)};
      else
        return {TimedWork::grouped_float_product,
                runnable<Arch>(GroupedLinear<FloatActivations>(std::move(weights)), rows, size)};
    } else {
      return {};
    }
  }
}

}  // namespace detail

/// The product by weights of a scheme, through the layer that multiplies what is stored:
/// `QuantizedLinear` for 8 bits with a parameter for each output or for all, `GroupedLinear` for
/// others of at most 8 bits in groups of 16 inputs or more, with activations of int8 per row where
/// the type has levels, and of float where it has none (`nf4`). What nothing multiplies by is
/// `TimedWork::decoded_product`: casts, floats of 6 and more bits, offsets, and sums that might
/// leave 32 bits. Throws: as `visit`.
template <class Types = all_elements, class Arch = default_arch>
[[nodiscard]] SampleProduct sample_product(const QuantSpec& spec, std::size_t rows,
                                           ProductShape size) {
  if (spec.is_cast() || size.outputs == 0 || size.inputs == 0) return {};
  try {
    return visit_type<Types>(
        spec, [&]<class T, class S>() { return detail::product_of_type<T, S, Arch>(rows, size); });
  } catch (const error& e) {
    if (e.code() != errc::bad_argument) throw;
    return {};
  }
}

/// The product by weights that stay float32. Throws: `errc::bad_argument` for sizes that memory
/// cannot hold.
template <class Arch = default_arch>
[[nodiscard]] SampleProduct sample_float_product(std::size_t rows, ProductShape size) {
  const std::vector<float> weights(
      detail::require_product("tq::sample_float_product", "weights", size.outputs, size.inputs),
      0.5f);
  return {
      TimedWork::float_product,
      detail::runnable<Arch>(
          FloatLinear(ConstTensorView(weights.data(), {size.outputs, size.inputs})), rows, size)};
}

}  // namespace tq
