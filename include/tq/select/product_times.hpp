// SPDX-License-Identifier: MIT
#pragma once
// ProductTimes: how long products by weights of a shape take in a scheme, measured on this machine.

#include <tq/core/element_lists.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/weight_axes.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/select/detail/product_shape.hpp>
#include <tq/select/detail/sample_product.hpp>
#include <tq/select/measured.hpp>
#include <tq/select/precision_model.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace tq {

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

  /// Seconds of a product with float32 weights, the reference of both other products.
  template <class Arch = default_arch>
  [[nodiscard]] double float_seconds(ProductShape shape) {
    shape.group = shape.inputs;
    return measured({std::string(float_scheme), "", shape},
                    [&](ProductShape part) { return sample_float_product<Arch>(rows_, part); })
        .seconds;
  }

  /// Seconds, and the product that took them.
  struct Measured {
    TimedWork work = TimedWork::none;
    double seconds = 0;
  };
  /// Measures weights in a scheme. Weights that no layer multiplies take `decode_seconds`, the time
  /// to decode them, and the time of float. Throws: as `sample_product`.
  template <class Types = all_elements, class Arch = default_arch>
  [[nodiscard]] Measured operator()(const QuantSpec& spec, ProductShape shape,
                                    double decode_seconds) {
    Measured out =
        measured({spec.is_cast() ? "cast" : spec.type, spec.symmetry, shape},
                 [&](ProductShape part) { return sample_product<Types, Arch>(spec, rows_, part); });
    if (out.work == TimedWork::decoded_product)
      out.seconds = decode_seconds + float_seconds<Arch>(shape);
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
/// used for. The rows of a table are looked up: `rows` of them are decoded. All other tensors of
/// two axes or more are multiplied by; those of one axis keep their times. Candidates that
/// `schemes` does not have (priors) do, too. Throws: as `ProductTimes`.
template <class Types = all_elements, class Arch = default_arch>
void set_product_times(PrecisionNode& node, const Shape& shape, NodeKind kind,
                       std::span<const NamedScheme> schemes, ProductTimes& times) {
  if (shape.rank() < 2 || shape.size() == 0) return;
  if (is_table(kind)) {
    const double share =
        std::min(1.0, static_cast<double>(times.rows()) / static_cast<double>(shape[0]));
    for (PrecisionCandidate& c : node.candidates)
      if (c.timed == TimedWork::decode) {
        c.seconds *= share;
        c.timed = TimedWork::lookup;
      }
    return;
  }
  const WeightAxes axes = weight_axes(node.name, kind, shape.extents());
  for (PrecisionCandidate& c : node.candidates) {
    if (c.scheme == float_scheme) {
      c.seconds = times.float_seconds<Arch>(product_shape(shape, shape, kind));
      c.timed = TimedWork::float_product;
      continue;
    }
    for (const NamedScheme& scheme : schemes) {
      if (scheme.name != c.scheme) continue;
      const QuantSpec spec = spec_for(scheme.spec, shape.extents(), axes);
      const Shape block = AnyGranularity(spec).block(shape);
      const auto [work, seconds] =
          times.operator()<Types, Arch>(spec, product_shape(shape, block, kind), c.seconds);
      c.seconds = seconds;
      c.timed = work;
    }
  }
}

}  // namespace tq
