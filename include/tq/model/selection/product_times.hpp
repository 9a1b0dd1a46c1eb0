// SPDX-License-Identifier: MIT
#pragma once
// ProductTimes: how long products by weights of a shape take in a scheme, measured on this machine.

#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/linear/float_linear.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/quantized_linear.hpp>
#include <tq/model/any_granularity.hpp>
#include <tq/model/named_schemes.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/model/selection/measured.hpp>
#include <tq/model/selection/precision_model.hpp>
#include <tq/model/visit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tq {

/// What weights of a tensor are in a product: y [rows, outputs] = x [rows, inputs] * transposed
/// weights, with parameters for every `group` inputs.
struct ProductShape {
  std::size_t outputs = 0, inputs = 0, group = 0;

  friend bool operator==(const ProductShape&, const ProductShape&) = default;
  friend bool operator<(const ProductShape& a, const ProductShape& b) noexcept {
    return std::tie(a.outputs, a.inputs, a.group) < std::tie(b.outputs, b.inputs, b.group);
  }
};

/// The product that a tensor is the weights of: [outputs, inputs], of filters [outputs, all the
/// rest], of experts [experts, outputs, inputs] those of all. `block` is what a parameter is for.
/// Precondition: two axes or more, and as many in `block`.
[[nodiscard]] inline ProductShape product_shape(const Shape& shape, const Shape& block,
                                                NodeKind kind) noexcept {
  const int first_input = shape.rank() == 3 && kind != NodeKind::conv ? 2 : 1;
  ProductShape out{1, 1, 1};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis < first_input) {
      out.outputs *= shape[axis];
    } else {
      out.inputs *= shape[axis];
      out.group *= std::min(block[axis], shape[axis]);
    }
  }
  return out;
}

/// A product that runs, of weights that are made up: which does not show in its time.
struct SampleProduct {
  TimedWork work = TimedWork::decoded_product;  ///< this one: nothing multiplies by such weights
  std::function<void()> multiply{};             ///< nothing then
};

namespace detail {

// A layer with rows of activations and room for its results.
template <class Layer>
[[nodiscard]] std::function<void()> runnable(Layer layer, std::size_t rows, ProductShape size) {
  struct State {
    Layer layer;
    std::vector<float> x, y;
  };
  const auto state = std::make_shared<State>(State{std::move(layer), {}, {}});
  state->x.resize(rows * size.inputs);
  state->y.resize(rows * size.outputs);
  for (std::size_t i = 0; i < state->x.size(); ++i)
    state->x[i] = static_cast<float>(i % 251) - 125.0f;
  return [state, rows, size] {
    state->layer.forward(ConstTensorView(state->x.data(), {rows, size.inputs}),
                         TensorView<float>(state->y.data(), {rows, size.outputs}));
  };
}

// Weights whose zero points, where there are any, differ.
template <class Params>
[[nodiscard]] QuantizedTensor<Params, Unpacked> sample_weights(
    const typename Params::granularity_type& granularity, ProductShape size) {
  const Shape shape{size.outputs, size.inputs};
  std::vector<float> scales(param_count(granularity, shape), 0.5f);
  std::vector<std::int32_t> zeros(Params::has_zero_point ? scales.size() : 0);
  for (std::size_t i = 0; i < zeros.size(); ++i)
    zeros[i] = i % 2 == 0 ? Params::codes.min : Params::codes.max;
  QuantizedTensor<Params, Unpacked> out(shape,
                                        make_params<Params>(granularity, std::move(scales), zeros));
  std::ranges::fill(out.codes(), static_cast<typename Params::code_type>(Params::codes.max));
  return out;
}

template <class T, class S>
[[nodiscard]] SampleProduct product_of_type(std::size_t rows, ProductShape size) {
  // A group is packed as 16 inputs or more, which shorter ones leave empty.
  constexpr std::size_t shortest = 16, longest = 65536;
  const bool whole_rows = size.group == size.inputs;
  if constexpr (OffsetSymmetry<S>) {
    return {};
  } else {
    if constexpr (IntegerElement<T> && T::bits == 8)
      if (whole_rows)
        return {
            TimedWork::int8_product,
            runnable(QuantizedLinear<>(sample_weights<QuantParams<T, PerChannel<0>, S>>({}, size)),
                     rows, size)};
    if constexpr (GroupedElement<T>) {
      if (size.group > longest || (size.group < shortest && !whole_rows)) return {};
      using Params = QuantParams<T, PerGroup<dynamic, 1>, S>;
      GroupedWeights weights(
          sample_weights<Params>(PerGroup<dynamic, 1>(static_cast<int>(size.group)), size));
      if constexpr (LevelMap::of<T>().has_levels)
        return {TimedWork::grouped_int8_product,
                runnable(GroupedLinear<Int8PerRow>(std::move(weights)), rows, size)};
      else
        return {TimedWork::grouped_float_product,
                runnable(GroupedLinear<FloatActivations>(std::move(weights)), rows, size)};
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
template <class Types = all_elements>
[[nodiscard]] SampleProduct sample_product(const QuantSpec& spec, std::size_t rows,
                                           ProductShape size) {
  if (spec.is_cast() || size.outputs == 0 || size.inputs == 0) return {};
  try {
    return visit_type<Types>(
        spec, [&]<class T, class S>() { return detail::product_of_type<T, S>(rows, size); });
  } catch (const error& e) {
    if (e.code() != errc::bad_argument) throw;
    return {};
  }
}

/// The product by weights that stay float32.
[[nodiscard]] inline SampleProduct sample_float_product(std::size_t rows, ProductShape size) {
  const std::vector<float> weights(size.outputs * size.inputs, 0.5f);
  return {
      TimedWork::float_product,
      detail::runnable(FloatLinear(ConstTensorView(weights.data(), {size.outputs, size.inputs})),
                       rows, size)};
}

/// The times of products of `rows` rows of activations, each measured once. Of more than
/// `most_weights` so many outputs are measured as have about that number, and all in proportion.
class ProductTimes {
 public:
  /// The seconds that a call takes.
  using Timer = std::function<double(const std::function<void()>&)>;

  /// The rows of activations of a product where nothing else is said: one, as a language model
  /// multiplies when it writes word by word.
  static constexpr std::size_t default_rows = 1;

  /// Throws: `errc::bad_argument` for no rows.
  explicit ProductTimes(std::size_t rows = default_rows, Timer timer = median_of_nine,
                        std::size_t most_weights = std::size_t{1} << 26)
      : rows_(rows), timer_(std::move(timer)), most_weights_(most_weights) {
    if (rows == 0)
      raise(errc::bad_argument,
            "tq::ProductTimes: expected at least one row of activations, got 0");
  }

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

  /// Of weights that stay float32, which both others are compared with.
  [[nodiscard]] double float_seconds(ProductShape shape) {
    shape.group = shape.inputs;
    return measured({std::string(float_scheme), "", shape},
                    [&](ProductShape part) { return sample_float_product(rows_, part); })
        .seconds;
  }

  struct Measured {
    TimedWork work = TimedWork::none;
    double seconds = 0;
  };
  /// Of weights in a scheme; `decode_seconds` is how long it takes to decode them: the time of what
  /// nothing multiplies by is that, and the time of float. Throws: as `sample_product`.
  [[nodiscard]] Measured operator()(const QuantSpec& spec, ProductShape shape,
                                    double decode_seconds) {
    Measured out = measured({spec.is_cast() ? "cast" : spec.type, spec.symmetry, shape},
                            [&](ProductShape part) { return sample_product(spec, rows_, part); });
    if (out.work == TimedWork::decoded_product) out.seconds = decode_seconds + float_seconds(shape);
    return out;
  }

 private:
  using Key = std::tuple<std::string, std::string, ProductShape>;

  static double median_of_nine(const std::function<void()>& f) {
    f();  // pages and caches
    return median_seconds(9, f);
  }

  template <class Make>
  Measured measured(const Key& key, const Make& make) {
    const auto found = measured_.find(key);
    if (found != measured_.end()) return found->second;
    const ProductShape all = std::get<2>(key);
    ProductShape part = all;
    part.outputs =
        std::min(all.outputs,
                 std::max<std::size_t>(most_weights_ / std::max<std::size_t>(all.inputs, 1), 1));
    const SampleProduct product = make(part);
    Measured out{product.work, 0};
    if (product.multiply)
      out.seconds = timer_(product.multiply) * static_cast<double>(all.outputs) /
                    static_cast<double>(std::max<std::size_t>(part.outputs, 1));
    return measured_.emplace(key, out).first->second;
  }

  std::size_t rows_;
  Timer timer_;
  std::size_t most_weights_;
  std::map<Key, Measured> measured_;
};

/// Replaces the times to decode a tensor, as `measured_node` measures them, by those of what it is
/// used for. The rows of an embedding are looked up: `rows` of them are decoded. All other tensors
/// of two axes or more are multiplied by; those of one axis keep their times. Candidates that
/// `schemes` does not have (priors) do, too. Throws: as `ProductTimes`.
inline void set_product_times(PrecisionNode& node, const Shape& shape, NodeKind kind,
                              std::span<const NamedScheme> schemes, ProductTimes& times) {
  if (shape.rank() < 2 || shape.size() == 0) return;
  if (kind == NodeKind::embedding) {
    const double share =
        std::min(1.0, static_cast<double>(times.rows()) / static_cast<double>(shape[0]));
    for (PrecisionCandidate& c : node.candidates)
      if (c.timed == TimedWork::decode) {
        c.seconds *= share;
        c.timed = TimedWork::lookup;
      }
    return;
  }
  for (PrecisionCandidate& c : node.candidates) {
    if (c.scheme == float_scheme) {
      c.seconds = times.float_seconds(product_shape(shape, shape, kind));
      c.timed = TimedWork::float_product;
      continue;
    }
    for (const NamedScheme& scheme : schemes) {
      if (scheme.name != c.scheme) continue;
      const Shape block = AnyGranularity(scheme.spec).block(shape);
      const auto [work, seconds] = times(scheme.spec, product_shape(shape, block, kind), c.seconds);
      c.seconds = seconds;
      c.timed = work;
    }
  }
}

}  // namespace tq
