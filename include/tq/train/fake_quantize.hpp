// SPDX-License-Identifier: MIT
#pragma once
// FakeQuantize: a layer that quantizes and dequantizes in training, with the gradients that
// training needs.

#include <tq/calibrate/calibrate.hpp>
#include <tq/core/detail/flat_range.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/make_params.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/copy.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/train/backward.hpp>
#include <tq/train/detail/backend_forms.hpp>
#include <tq/train/detail/fake_quantize_state.hpp>
#include <tq/train/detail/learned_slots.hpp>
#include <tq/train/detail/slot_sizes.hpp>
#include <tq/train/detail/transformed_input.hpp>
#include <tq/train/dorefa.hpp>
#include <tq/train/training_switches.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// Fake quantization for a training loop of any kind: forward and backward over views, no graph. It
/// keeps an observer, parameters, and what `Gradient` learns of them.
///
/// `TrainingSwitches` has its modes and switches. The first batch initialises the parameters; a
/// gradient that learns owns them afterwards, and nothing more is observed, whatever `learn` says.
template <AnyParams Params, Accumulator Acc = MinMax,
          GradientPolicy Gradient = ClippedStraightThrough, class Calibrator = MinMaxCalibrator,
          NumericsPolicy N = numerics_of<Params>>
class FakeQuantize
    : public TrainingSwitches,
      public detail::BackendForms<FakeQuantize<Params, Acc, Gradient, Calibrator, N>> {
  using Forms = detail::BackendForms<FakeQuantize>;
  static constexpr bool is_one_step_too_few = Gradient::learned == 1 && Params::has_zero_point;
  static constexpr bool gradient_fits = GradientFor<Gradient, Params>;
  static constexpr bool calibrator_fits = CalibratorFor<Calibrator, Acc, Params, N>;
  static_assert(gradient_fits || !is_one_step_too_few,
                "tq::FakeQuantize: this gradient learns a scale alone: take a symmetric scheme, or "
                "a gradient that learns zero points too, such as LearnedStepPlus");
  static_assert(gradient_fits || is_one_step_too_few,
                "tq::FakeQuantize: the scheme has no such gradient: int32 and float offsets have "
                "no gradients, learning gradients need float32 scales, and LearnedStepPlus and "
                "others need zero points");
  static_assert(calibrator_fits,
                "tq::FakeQuantize: this calibrator cannot choose from what the accumulator keeps: "
                "KL divergence, MSE and others need Histogram");

 public:
  /// The parameters remember the numerics of the layer.
  using params_type = params_under<Params, N>;
  using gradient_type = Gradient;
  using granularity_type = typename params_type::granularity_type;
  using observer_type = Observer<Acc, granularity_type>;
  /// Whether there is anything to learn.
  static constexpr bool learns = Gradient::learned > 0;
  /// Whether the scale is fixed by the gradient policy, and a function of the input is quantized.
  static constexpr bool transforms = TransformingGradient<Gradient>;
  using Forms::backward, Forms::forward;

  explicit FakeQuantize(granularity_type granularity = granularity_type{},
                        Calibrator calibrator = {}, N numerics = {}, Acc prototype = Acc{},
                        std::string name = {})
      : observer_(granularity, std::move(prototype), std::move(name)),
        calibrator_(std::move(calibrator)),
        numerics_(std::move(numerics)) {}

  /// True if backward computes the gradients of learned parameters.
  [[nodiscard]] bool is_learning() const noexcept { return learns && learns_; }
  /// Forgets what was observed, so that parameters follow the next batch alone: for weights, which
  /// change every step.
  void reset_observer() noexcept { observer_.reset(); }

  // --- passes ---
  /// Observes `x`, in training and as the switches say, and writes what it becomes to `y` (a span
  /// of x.size() elements, or a view of the shape of x), which may be x. Of `tq::float16`,
  /// `tq::bfloat16`, double and others the values as float32 are observed and quantized, rounded
  /// once to the type of y; what passes through keeps its bits. Empty tensors are legal. Options
  /// of all passes: an executor, a backend. Throws:
  /// `errc::no_data` when a slot saw no finite value; `errc::shape_mismatch`, `errc::bad_axis`,
  /// `errc::bad_group_size` when x or y does not fit; `errc::not_finite` under `RaiseNan`; what
  /// the calibrator throws. y is not written then.
  template <Readable X = ConstTensorView, detail::RealOutput Y = TensorView<float>, class... O,
            Backend B = detail::backend_among<O...>>
  void forward(const X& x, Y&& y, const O&... options) {
    using enum detail::OptionKind;
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::FakeQuantize::forward: the output is a temporary: give it a name first");
    detail::require_axes<X, granularity_type>();
    const auto chosen = detail::choose<executor, backend>(options...);
    any_forward<B>(detail::read(x).view(),
                   detail::output<detail::real_output_t<Y>>(std::forward<Y>(y)), chosen.executor());
  }
  /// Quantizes by the parameters there are and numerics(), and observes nothing: for evaluation.
  /// Throws: `errc::no_data` before the first batch was observed; otherwise as above.
  template <Readable X = ConstTensorView, detail::RealOutput Y = TensorView<float>, class... O,
            Backend B = detail::backend_among<O...>>
  void forward(const X& x, Y&& y, const O&... options) const {
    using enum detail::OptionKind;
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::FakeQuantize::forward: the output is a temporary: give it a name first");
    const auto chosen = detail::choose<executor, backend>(options...);
    checked_pass<B>(detail::read(x).view(),
                    detail::output<detail::real_output_t<Y>>(std::forward<Y>(y)),
                    chosen.executor());
  }

  /// The gradients at input `x`, given that of the output: writes dL/dx to `gx`, which may be `gy`,
  /// and returns those of learned(), parameter by parameter; the next call overwrites them. `x` is
  /// the forward call's input, and must not be overwritten by its output. NaN and infinities in gy
  /// go on to gx, and may make the gradients of their slot NaN. Throws: `errc::no_data` before the
  /// first batch; `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something
  /// does not fit. Nothing is written then. Numbers of other types than float32 count as float32,
  /// and gx is rounded once; where gx is gy, the two have one type.
  template <Readable X = ConstTensorView, Readable Gy = ConstTensorView,
            detail::RealOutput Gx = TensorView<float>, class... O,
            Backend B = detail::backend_among<O...>>
  std::span<const float> backward(const X& x, const Gy& gy, Gx&& gx, const O&... options) {
    static_assert(!detail::is_temporary_owner<Gx>,
                  "tq::FakeQuantize::backward: the output is a temporary: give it a name first");
    using enum detail::OptionKind;
    const auto chosen = detail::choose<executor, backend>(options...);
    using Out = detail::real_output_t<Gx>;
    return checked_backward<B, real_of<X>, real_of<Gy>, Out>(
        {detail::read(x).view(), detail::read(gy).view(),
         detail::output<Out>(std::forward<Gx>(gx))},
        chosen.executor());
  }
  // Does not compile: a const layer keeps no gradients.
  template <Readable X, Readable Gy, detail::RealOutput Gx, class... O>
  std::span<const float> backward(const X&, const Gy&, Gx&&, const O&...) const {
    static_assert(!sizeof(X),
                  "tq::FakeQuantize::backward: it changes the gradients of the layer, which is "
                  "const here");
    return {};
  }

  // --- parameters ---
  [[nodiscard]] bool ready() const noexcept { return params_.has_value(); }
  /// Throws: `errc::no_data` before the first batch.
  [[nodiscard]] const params_type& params() const {
    if (!params_)
      detail::raise_text(errc::no_data, {where("params"),
                                         ": expected a batch first: there are no parameters yet"});
    return *params_;
  }
  /// The numerics of the last observing forward call: `Stochastic` draws anew for every call, by
  /// its number.
  [[nodiscard]] N numerics() const noexcept {
    return numerics_of(batches_ == 0 ? 0 : batches_ - 1);
  }
  [[nodiscard]] const observer_type& observer() const noexcept { return observer_; }
  [[nodiscard]] const granularity_type& granularity() const noexcept {
    return observer_.granularity();
  }

  /// The learned parameters: the first one of every slot, then, where there are two, the second of
  /// every slot. Empty before the first batch.
  [[nodiscard]] std::span<const float> learned() const noexcept { return learned_; }
  /// The gradients of the last backward call; zeros before.
  [[nodiscard]] std::span<const float> gradients() const noexcept { return gradients_; }

  /// A step of an optimiser: optimiser(values, gradients) changes the values of learned() in place.
  /// They are then kept in their domain (scales stay positive) and become the parameters. Does
  /// nothing while not learning. Throws: `errc::bad_argument` in evaluation; `errc::not_finite`
  /// when a value is not finite afterwards; what the optimiser throws. The parameters stay as they
  /// were then.
  template <class F>
    requires learns
  void update(F&& optimiser) {
    if (!trains_)
      detail::raise_expected(errc::bad_argument, where("update"), {"a layer in training"},
                             {"one in evaluation: call train()"});
    if (!is_learning() || !params_) return;
    std::vector<float> values = learned_;
    gradients_.resize(values.size(), 0.0f);
    optimiser(std::span<float>(values), std::span<const float>(gradients_));
    const std::size_t slot_count = params_->scales().size();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        detail::raise_expected(errc::not_finite, where("update"), {"finite learned parameters"},
                               {values[i], " for slot ", i % slot_count});
    std::vector<float> kept = values;
    Slots::keep(learned_, kept);
    for (std::size_t i = 0; i < values.size(); ++i) clamped_ += kept[i] != values[i] ? 1u : 0u;
    set_learned(std::move(kept));
  }
  /// Number of learned values that `update` clamped to keep them in their domain, such as a scale
  /// that a step would have taken below half of what it was. It is not stored: a restored layer
  /// keeps its own.
  [[nodiscard]] std::uint64_t clamped() const noexcept
    requires learns
  {
    return clamped_;
  }

  /// The values that are quantized in place of `x`, for gradient policies that transform it:
  /// quantize(transformed(x), params()) are the codes of x. Row-major. Throws: `errc::bad_axis`,
  /// `errc::bad_group_size` when the granularity does not fit.
  template <Readable X = ConstTensorView>
  [[nodiscard]] std::vector<float> transformed(const X& x) const
    requires transforms
  {
    const auto in = detail::read(x);
    const TensorView<const real_of<X>>& view = in.view();
    detail::require_possible("tq::FakeQuantize::transformed", granularity(), view.shape());
    std::vector<float> t(view.size());
    const TensorView<float> out(t.data(), view.shape());
    if (Gradient::transforms(bounds))
      detail::transform_input<Gradient, default_backend>(granularity(), view, out, serial);
    else copy_unchecked(view, out);
    return t;
  }

  // --- storing ---
  using State = FakeQuantizeState<params_type, Acc>;
  [[nodiscard]] State state() const {
    return {params_, learned_, observes_, quantizes_, learns_, delay_, batches_, observer_};
  }
  /// Continues from `s`.
  /// Throws: `errc::malformed` when parameters and learned parameters do not belong together; this
  /// object is unchanged then.
  void restore(State s) {
    detail::require_consistent<Gradient>(s, where("restore"));
    params_ = std::move(s.params);
    learned_ = std::move(s.learned);
    gradients_.assign(learned_.size(), 0.0f);
    observes_ = s.observes;
    quantizes_ = s.quantizes;
    learns_ = s.learns;
    delay_ = s.delay;
    batches_ = s.batches;
    observer_ = std::move(s.observer);
  }

 private:
  static constexpr const char* function_forward = "tq::FakeQuantize::forward";
  static constexpr const char* function_backward = "tq::FakeQuantize::backward";
  static constexpr kernels::Bounds bounds = detail::code_bounds<params_type>();
  using Slots = detail::LearnedSlots<Gradient, params_type>;

  [[nodiscard]] std::string where(const char* function) const {
    return std::string("tq::FakeQuantize::") + function +
           (observer_.name().empty() ? "" : ": tensor '" + observer_.name() + "'");
  }
  [[nodiscard]] N numerics_of(std::uint64_t batch) const noexcept {
    N n = numerics_;
    if constexpr (std::same_as<typename N::rounding_type, Stochastic>)
      n.rounding.seed += batch * 0x9e3779b97f4a7c15u;
    return n;
  }
  void require_ready(const char* function, const Shape& shape) const {
    if (!params_)
      detail::raise_text(
          errc::no_data,
          {function, ": expected an observed batch first: there are no parameters yet"});
    detail::require_fit(function, *params_, shape);
  }

  // Parameters as calibrated; what is learned starts from them.
  void set(params_type params) {
    if constexpr (learns) set_learned(Slots::start(params));
    else params_ = std::move(params);
  }
  void set_learned(std::vector<float> values) {
    params_ = Slots::params(granularity(), values);
    learned_ = std::move(values);
    gradients_.resize(learned_.size(), 0.0f);
  }

  void collect(const Shape& shape) {
    if constexpr (learns)
      Slots::gradients(learned_, sums_,
                       detail::slot_sizes(granularity(), shape, params_->scales().size()),
                       gradients_);
  }

  template <Backend B, Real X, Real Y, Executor E>
  void any_forward(const TensorView<const X>& x, TensorView<Y> y, const E& executor) {
    if (trains_) observing_forward<B>(x, y, executor);
    else checked_pass<B>(x, y, executor);
  }

  template <Backend B, Real X, Real Y, Executor E>
  void observing_forward(const TensorView<const X>& x, TensorView<Y> y, const E& executor) {
    detail::shape_as(function_forward, "an output", y, x.shape());
    detail::require_possible(function_forward, observer_.granularity(), x.shape());
    detail::require_no_nan<B, N>(function_forward, x);
    if (x.size() != 0) {
      if constexpr (transforms) {
        if (!params_)
          params_ = make_params<params_type>(
              granularity(), Scales<float>(std::vector<float>(param_count(granularity(), x.shape()),
                                                              Gradient::fixed_scale(bounds))));
      } else if (observes_ && !(params_ && learns && active())) {
        observer_.observe(x, executor, on<B>);
        set(tq::calibrate<params_type>(observer_, calibrator_, numerics_, executor));
      }
    }
    pass<B>(x, y, numerics_of(batches_), executor);
    ++batches_;
  }

  template <Backend B, Real X, Real Y, Executor E>
  void checked_pass(const TensorView<const X>& x, TensorView<Y> y, const E& executor) const {
    detail::shape_as(function_forward, "an output", y, x.shape());
    detail::require_no_nan<B, N>(function_forward, x);
    pass<B>(x, y, numerics(), executor);
  }

  template <Backend B, Real X, Real Y, Executor E>
  void pass(const TensorView<const X>& x, const TensorView<Y>& y, const N& numerics,
            const E& executor) const {
    if (!active() || x.size() == 0) return copy_unchecked<B>(x, y, executor);
    require_ready(function_forward, x.shape());
    if constexpr (transforms) {
      if (Gradient::transforms(bounds)) {
        return detail::in_floats(y, [&](const TensorView<float>& t) {
          detail::transform_input<Gradient, B>(granularity(), x, t, executor);
          detail::fake_quantize_values<B, params_type, float, Y>(t, *params_, y, numerics,
                                                                 executor);
        });
      }
    }
    detail::fake_quantize_values<B>(x, *params_, y, numerics, executor);
  }

  template <Backend B, Real X, Real Gy, Real Gx, Executor E>
  std::span<const float> checked_backward(detail::GradientTensors<X, Gy, Gx> tensors,
                                          const E& executor) {
    const Shape& shape = tensors.x.shape();
    detail::shape_as(function_backward, "an output gradient", tensors.gy, shape);
    detail::shape_as(function_backward, "an input gradient", tensors.gx, shape);
    const bool through = passed_through();
    if (!through && shape.size() != 0) require_ready(function_backward, shape);
    gradients_.assign(learned_.size(), 0.0f);
    if (through || shape.size() == 0) {
      copy_unchecked<B>(tensors.gy, tensors.gx, executor);
    } else if (learns && is_learning()) {
      detail::backward_values<Gradient, B>(tensors, *params_, sums_, numerics(), executor);
      collect(shape);
    } else {
      backward_input<B>(tensors, executor);
    }
    return gradients_;
  }

  // Without the gradients of parameters.
  template <Backend B, Real X, Real Gy, Real Gx, Executor E>
  void backward_input(const detail::GradientTensors<X, Gy, Gx>& tensors, const E& executor) {
    using InputOnly = detail::InputOnly<Gradient>;
    if constexpr (transforms) {
      if (Gradient::transforms(bounds)) {
        std::vector<float> t(tensors.x.size());
        const TensorView<float> view(t.data(), tensors.x.shape());
        detail::transform_input<Gradient, B>(granularity(), tensors.x, view, executor);
        return detail::in_floats(tensors.gx, [&](const TensorView<float>& g) {
          detail::backward_values<InputOnly, B>(
              detail::GradientTensors<float, Gy, float>{view, tensors.gy, g}, *params_, sums_,
              numerics(), executor);
          detail::multiply_by_slopes<Gradient, B>(granularity(), tensors.x, g, executor);
          copy_unchecked<B, float, Gx>(g, tensors.gx, executor);
        });
      }
    }
    detail::backward_values<InputOnly, B>(tensors, *params_, sums_, numerics(), executor);
  }

  observer_type observer_;
  [[no_unique_address]] Calibrator calibrator_;
  [[no_unique_address]] N numerics_;
  std::optional<params_type> params_;
  std::vector<float> learned_, gradients_;
  ParameterGradients sums_;
  std::uint64_t clamped_ = 0;
};

/// The parameters that training arrived at: quantize(x, convert(layer), layer.numerics())
/// dequantizes to exactly what forward gives for x (for a gradient that transforms its input: for
/// layer.transformed(x)). Throws: `errc::no_data` when the layer saw no batch.
template <class Params, class Acc, class Gradient, class Calibrator, class N>
[[nodiscard]] params_under<Params, N> convert(
    const FakeQuantize<Params, Acc, Gradient, Calibrator, N>& layer) {
  return layer.params();
}

}  // namespace tq
