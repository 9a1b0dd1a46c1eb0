// SPDX-License-Identifier: MIT
#pragma once
// ModelNode: what a Quantizer keeps of a node, and what it does to its tensors.

#include <tq/core/detail/with_alternative.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/model/any_observer.hpp>
#include <tq/model/named_calibrators.hpp>
#include <tq/model/quant_config.hpp>
#include <tq/model/quant_node.hpp>
#include <tq/model/summary.hpp>
#include <tq/model/weight_axes.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/copy.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/encoded_parameters.hpp>
#include <tq/scheme/detail/seen_ranges.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/piece_coder.hpp>
#include <tq/scheme/stored_parameters.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq::detail {

// The elements of x, row-major.
template <Backend B>
[[nodiscard]] std::vector<float> dense_values(const ConstTensorView& x) {
  std::vector<float> values(x.size());
  copy(x, TensorView<float>(values.data(), x.shape()), on<B>);
  return values;
}

template <class Types, class ScaleTypes, Backend B>
class ModelNode {
 public:
  using Coder = PieceCoder<Types, ScaleTypes, B>;

  ModelNode(QuantNode node, NodeDecision decision, bool is_observed)
      : node_(std::move(node)), decision_(std::move(decision)) {
    if (decision_.scheme && !node_.shape.empty()) decision_.scheme = scheme_for(node_.shape);
    if (is_observed && decision_.scheme)
      observer_ = make_observer(decision_.observer, AnyGranularity(*decision_.scheme), node_.name);
  }

  [[nodiscard]] const QuantNode& node() const noexcept { return node_; }
  [[nodiscard]] const NodeDecision& decision() const noexcept { return decision_; }
  [[nodiscard]] const std::optional<AnyObserver>& observer() const noexcept { return observer_; }
  [[nodiscard]] const std::optional<EncodedTensor>& params() const noexcept { return params_; }
  [[nodiscard]] bool is_final() const noexcept { return is_final_; }
  [[nodiscard]] std::uint64_t samples() const {
    const std::lock_guard lock(mutex_);
    return seen();
  }
  [[nodiscard]] bool lacks_samples() const {
    return observer_ && samples() < decision_.minimum_samples;
  }
  [[nodiscard]] NodeState state() const {
    const std::lock_guard lock(mutex_);
    return {node_, observer_};
  }

  // Throws: as `Observer::observe`; `errc::bad_axis` and `errc::bad_group_size` also where nothing
  // observes, as `summary` could tell no sizes of such a tensor. Nothing has changed then.
  void observe(const ConstTensorView& x) {
    if (decision_.scheme) {
      const std::string name = "tq::Quantizer::observe: node \"" + node_.name + "\"";
      AnyGranularity(*decision_.scheme).require(name.c_str(), x.shape());
    }
    const std::lock_guard lock(mutex_);
    if (observer_) with_alternative(*observer_, [&](auto& o) { o.observe(x, on<B>); });
    take_size(x.shape());
  }

  // Replaces the observer and drops the parameters. Precondition: `require_alike` takes it.
  void replace(std::optional<AnyObserver> observer) {
    observer_ = std::move(observer);
    set_params({}, false);
  }
  void set_params(std::optional<EncodedTensor> params, bool is_final) {
    params_ = std::move(params);
    is_final_ = is_final;
  }
  // Throws: `errc::bad_argument` for an observer of another kind or granularity than this node's.
  void require_alike(const char* function, const std::optional<AnyObserver>& other) const {
    const auto text = [](const std::optional<AnyObserver>& o) {
      return o ? kind_of(*o) + " " + to_string(granularity_of(*o)) : std::string("none");
    };
    if (text(observer_) != text(other))
      raise_expected(errc::bad_argument, where(function), {"observer ", text(observer_)},
                     {text(other)});
  }

  // The parameters for what was observed. Throws: as `chosen_ranges` and `fitted_parameters`;
  // `errc::bad_scale`.
  [[nodiscard]] EncodedTensor calibrated() const {
    const CalibratorOptions by{.name = decision_.calibrator};
    std::vector<Range> ranges = chosen_ranges<Types>(*observer_, by, *decision_.scheme);
    for (Range& r : ranges) r = detail::without_negative_zeros(r);
    QuantSpec any_shape = *decision_.scheme;
    any_shape.granularity = PerTensor::name;
    EncodedTensor out = fitted_parameters<Types, ScaleTypes>(*decision_.scheme, ranges);
    require_fitted<ScaleTypes>(out, encoded_layout<Types, ScaleTypes>(any_shape, {1}));
    return out;
  }

  // The codes of x, and in `back` what they stand for. Throws: as `Quantizer::quantize`.
  [[nodiscard]] EncodedTensor encode(const char* function, const ConstTensorView& x,
                                     std::span<float> back) {
    if (decision_.is_skipped()) refuse_without_params(function);
    const std::vector<float> values = dense_values<B>(x);
    require_finite(function, values);
    Coder coder = started(function, x.shape(), values);
    EncodedTensor out = coder.parameters();
    out.codes = decltype(out.codes)(coder.code_bytes(values.size()));
    const std::span<std::byte> codes(out.codes.data(), out.codes.size());
    coder.encode(0, values, codes);
    coder.decode(0, codes, back);
    const std::lock_guard lock(mutex_);
    take_size(x.shape());
    lost_.add(values, std::span<const float>(back));
    return out;
  }

  // A coder with the parameters for these values. Throws: as `Quantizer::quantize`.
  [[nodiscard]] Coder started(const char* function, const Shape& shape,
                              std::span<const float> values) const {
    Coder coder;
    coder.start(params_ ? *decision_.scheme : scheme_for(shape.extents()), shape);
    if (params_) {
      coder.restore(stored_parameters<ScaleTypes>(*params_));
      return coder;
    }
    if (observer_ && (decision_.minimum_samples > 0 || samples() > 0))
      refuse_without_params(function);
    coder.observe(0, values);
    coder.fit();
    return coder;
  }

  [[nodiscard]] NodeSummary summary() const;

  void require_finite(const char* function, std::span<const float> values) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        raise_expected(errc::not_finite, where(function), {"finite values"},
                       {values[i], " at element ", i});
  }
  [[nodiscard]] std::string where(const char* function) const {
    return std::string("tq::Quantizer::") + function + ": node \"" + node_.name + "\"";
  }
  [[noreturn]] void refuse_without_params(const char* function) const {
    if (decision_.is_skipped())
      raise_expected(errc::bad_argument, where(function), {"a node that is quantized"},
                     {"one left as it is: ", decision_.decided_by});
    raise(errc::no_data,
          where(function) + (observer_ ? ": expected parameters, but finalize has not made any"
                                       : ": expected parameters, but each tensor has its own"));
  }

  // Keeps the largest shape, of equal sizes the last by its text, so that order does not matter.
  void take_size(const Shape& shape) {
    const auto key = [](const Shape& s) { return std::pair(s.size(), to_string(s)); };
    if (!largest_ || largest_->size() < shape.size() ||
        (largest_->size() == shape.size() && key(*largest_) < key(shape)))
      largest_ = shape;
  }
  [[nodiscard]] const std::optional<Shape>& largest() const noexcept { return largest_; }

 private:
  [[nodiscard]] std::uint64_t seen() const { return observer_ ? batches_of(*observer_) : 0; }

  // The scheme for a tensor of that shape: where it names no axis, that of the tensor's outputs.
  // Scalars keep the scheme, which then does not fit them.
  [[nodiscard]] QuantSpec scheme_for(std::span<const std::size_t> extents) const {
    if (extents.empty()) return *decision_.scheme;
    return spec_for(*decision_.scheme, extents, weight_axes(node_.name, node_.kind, extents));
  }

  QuantNode node_;
  NodeDecision decision_;
  std::optional<AnyObserver> observer_{};
  std::optional<EncodedTensor> params_{};
  bool is_final_ = false;           // finalize has made them
  std::optional<Shape> largest_{};  // of the tensors that it was given
  Comparison<B> lost_{};            // of all tensors that were quantized
  mutable std::mutex mutex_{};
};

template <class Types, class ScaleTypes, Backend B>
NodeSummary ModelNode<Types, ScaleTypes, B>::summary() const {
  const std::lock_guard lock(mutex_);
  NodeSummary out{.name = node_.name,
                  .kind = node_.kind,
                  .type = "float",
                  .decided_by = decision_.decided_by,
                  .samples = seen(),
                  .minimum_samples = observer_ ? decision_.minimum_samples : 0,
                  .elements = largest_ ? largest_->size() : 0,
                  .error = lost_.metrics()};
  out.bytes_before = (out.elements * static_cast<std::uint64_t>(node_.bits) + 7) / 8;
  out.code_bytes = out.bytes_before;
  if (decision_.is_skipped()) return out;
  out.type = decision_.scheme->type;
  out.scheme = to_string(*decision_.scheme);
  out.code_bytes = 0;
  if (!largest_) return out;
  const QuantSpec spec = params_ ? *decision_.scheme : scheme_for(largest_->extents());
  out.scheme = to_string(spec);
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(spec, *largest_);
  out.code_bytes = layout.code_bytes;
  out.padding_bits = 8 * out.code_bytes - out.elements * static_cast<std::uint64_t>(layout.bits);
  out.zero_point_bytes = layout.scales.size() * layout.zero_point_bytes();
  out.scale_bytes = layout.bytes() - layout.code_bytes - out.zero_point_bytes;
  return out;
}

}  // namespace tq::detail
