// SPDX-License-Identifier: MIT
#pragma once
// migrate: scales of inputs folded into weights that read them, and into what makes them.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ptq/detail/require_input_scales.hpp>
#include <tq/ptq/detail/require_weights.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// A layer by the name that its source knows it by. Its weights [outputs, inputs] are changed.
struct InputReader {
  std::string name;
  TensorView<float> weights;
};

/// The maker of the inputs of layers, and the names of all its readers: `into_norm` and
/// `into_rows` make it.
struct InputSource {
  std::vector<TensorView<float>> parts;  ///< [inputs, ...], whose rows are divided
  std::vector<std::string> readers;
};

/// A norm: its gain [inputs], and its bias where it has one. `readers` are all layers that read its
/// output.
[[nodiscard]] inline InputSource into_norm(std::vector<std::string> readers, std::span<float> gain,
                                           std::span<float> bias = {}) {
  InputSource out{{TensorView<float>(gain.data(), {gain.size()})}, std::move(readers)};
  if (!bias.empty()) out.parts.emplace_back(bias.data(), Shape{bias.size()});
  return out;
}

/// A layer whose outputs, through a function f with f(a x) = a f(x) for a > 0 such as ReLU, are the
/// inputs: its weights [inputs, ...], and its bias where it has one. `readers` are all layers that
/// read its output.
[[nodiscard]] inline InputSource into_rows(std::vector<std::string> readers,
                                           const TensorView<float>& weights,
                                           std::span<float> bias = {}) {
  InputSource out{{weights}, std::move(readers)};
  if (!bias.empty()) out.parts.emplace_back(bias.data(), Shape{bias.size()});
  return out;
}

namespace detail {

[[nodiscard]] inline std::string names_text(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

// Throws: `errc::bad_argument` unless the two name the same layers, each once.
inline void require_readers(const InputSource& before, const std::vector<InputReader>& readers) {
  std::vector<std::string> given, known = before.readers;
  for (const InputReader& r : readers) given.push_back(r.name);
  std::ranges::sort(given);
  std::ranges::sort(known);
  if (given != known || known.empty() || std::ranges::adjacent_find(known) != known.end())
    raise_expected(errc::bad_argument, "tq::migrate",
                   {"all readers of the source, each once (", names_text(known), ")"},
                   {names_text(given)});
}

// A matrix whose element (r, c) becomes change(element, r, c) once all of a call's are finite.
class ScaledMatrix {
 public:
  template <class Change>
  ScaledMatrix(const TensorView<float>& to, const Change& change) : to_(to) {
    const std::size_t columns = width();
    values_.reserve(to.size());
    for (std::size_t r = 0; r < to.shape()[0]; ++r)
      for (std::size_t c = 0; c < columns; ++c) {
        values_.push_back(change(*at(r, c), r, c));
        if (!std::isfinite(values_.back()))
          raise_expected(errc::not_finite, "tq::migrate", {"results that float32 holds"},
                         {values_.back(), " at row ", r, " and column ", c});
      }
  }
  void write() const noexcept {
    for (std::size_t i = 0; i < values_.size(); ++i) *at(i / width(), i % width()) = values_[i];
  }

 private:
  [[nodiscard]] std::size_t width() const noexcept {
    return to_.shape().rank() == 1 ? 1 : to_.shape()[1];
  }
  [[nodiscard]] float* at(std::size_t r, std::size_t c) const noexcept {
    const std::ptrdiff_t across = to_.shape().rank() == 1 ? 0 : to_.stride(1);
    return to_.data() + static_cast<std::ptrdiff_t>(r) * to_.stride(0) +
           static_cast<std::ptrdiff_t>(c) * across;
  }

  TensorView<float> to_;
  std::vector<float> values_;
};

}  // namespace detail

/// Divides the inputs of `readers` by `scales`, one for each input, in what makes them, and
/// multiplies the weights of `readers` by them: outputs stay, up to rounding, and bit for bit where
/// scales are powers of two. `readers` are all that `before` names: a layer left out would read
/// inputs that were divided behind its back. Throws: `errc::bad_argument` for other readers;
/// `errc::shape_mismatch` for parts and weights of other inputs; `errc::bad_scale` unless scales
/// are positive and finite; `errc::not_finite` for results that float32 cannot hold. Nothing is
/// changed then.
inline void migrate(std::span<const float> scales, const InputSource& before,
                    const std::vector<InputReader>& readers) {
  constexpr const char* function = "tq::migrate";
  detail::require_readers(before, readers);
  detail::require_input_scales(function, scales, scales.size());
  for (const TensorView<float>& part : before.parts)
    if (part.shape().rank() < 1 || part.shape().rank() > 2 || part.shape()[0] != scales.size())
      detail::raise_expected(errc::shape_mismatch, function,
                             {"a source of ", scales.size(), " outputs"},
                             {"shape ", part.shape().extents()});
  for (const InputReader& reader : readers)
    detail::require_weights(function, reader.weights, scales.size());
  std::vector<detail::ScaledMatrix> changes;
  for (const TensorView<float>& part : before.parts)
    changes.emplace_back(part, [&](float v, std::size_t r, std::size_t) { return v / scales[r]; });
  for (const InputReader& reader : readers)
    changes.emplace_back(reader.weights,
                         [&](float v, std::size_t, std::size_t c) { return v * scales[c]; });
  for (const detail::ScaledMatrix& change : changes) change.write();
}

}  // namespace tq
