// SPDX-License-Identifier: MIT
#pragma once
// calibrate: from what an observer saw, or straight from a tensor, to parameters.

#include <tq/bodies.hpp>
#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/min_max.hpp>
#include <tq/core/detail/flat_range.hpp>
#include <tq/core/detail/mistakes.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/options.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/observe/concepts.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/backend/on.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

namespace detail {
// The text is made in a function that is no template, once for all types.
[[noreturn]] TQ_CORE_API void refuse_no_data(const std::string& name, std::size_t i, std::size_t n);

template <class Params, class N, class Acc, class NonFinite, class C, class E>
[[nodiscard]] params_under<Params, N> calibrate_observer(
    const Observer<Acc, typename Params::granularity_type, NonFinite>& observer,
    const C& calibrator, const E& executor) {
  const std::span<const Acc> accumulators = observer.accumulators();
  if (accumulators.empty()) refuse_no_data(observer.name(), 0, 0);
  for (std::size_t i = 0; i < accumulators.size(); ++i)
    if (accumulators[i].empty()) refuse_no_data(observer.name(), i, accumulators.size());
  std::vector<Range> ranges(accumulators.size());
  const auto choose = [&](std::size_t i) {
    ranges[i] = calibrator.template range<Params, N>(accumulators[i]);
  };
  choose(0);  // a calibrator with impossible options throws here, not on another thread
  executor(accumulators.size() - 1, [&](std::size_t i) { choose(i + 1); });
  return fit_params<params_under<Params, N>, N>(observer.granularity(), ranges);
}

template <class Params, class Acc, class B, class N, Real T, class C, class E>
[[nodiscard]] params_under<Params, N> calibrate_tensor(
    const TensorView<const T>& x, const C& calibrator,
    const typename Params::granularity_type& granularity, const E& executor) {
  require_possible("tq::calibrate", granularity, x.shape());
  if (x.size() == 0)  // there may be parameters all the same: they are those of zeros
    return fit_params<params_under<Params, N>, N>(
        granularity, std::vector<Range>(param_count(granularity, x.shape()), Range{0.0f, 0.0f}));
  using Seen = Observer<Acc, typename Params::granularity_type>;
  const auto see = [&](Seen& observer) {
    observer.observe(x, executor, on<B>);
    return calibrate_observer<Params, N>(observer, calibrator, executor);
  };
  if constexpr (is_large<Acc>) {  // its constructor takes one
    return see(*std::make_unique<Seen>(granularity));
  } else {
    Seen observer(granularity);
    return see(observer);
  }
}

// The body of calls with a tensor.
template <class Params, class Acc, class X, class C, class... O, Backend B = backend_among<O...>>
[[nodiscard]] auto calibrate_readable(const X& x, const C& calibrator, const O&... options) {
  using enum OptionKind;
  using Gran = typename Params::granularity_type;
  require_axes<X, Gran>();
  const auto chosen = choose<granularity, numerics, executor, backend>(options...);
  return calibrate_tensor<Params, Acc, B, numerics_among<numerics_of<Params>, O...>>(
      read(x).view(), calibrator, chosen.template get<granularity, Gran>(), chosen.executor());
}
}  // namespace detail

/// Parameters for everything `observer` saw: the calibrator chooses each slot's range, the symmetry
/// turns it into scale and zero point, the numerics' degenerate policy deals with ranges that have
/// no usable scale. The parameters remember the numerics: operations use them unless they are told
/// others. Options: numerics, an executor, over which slots are spread and on which the result does
/// not depend. Throws: `errc::no_data` when the observer, or one of its slots, saw no finite value;
/// what the calibrator throws.
template <AnyParams Params, Accumulator Acc, class NonFinite, class C, Option... O>
  requires CalibratorFor<C, Acc, Params, detail::numerics_among<numerics_of<Params>, O...>>
[[nodiscard]] auto calibrate(
    const Observer<Acc, typename Params::granularity_type, NonFinite>& observer,
    const C& calibrator, const O&... options) {
  using enum detail::OptionKind;
  const auto chosen = detail::choose<numerics, executor>(options...);
  return detail::calibrate_observer<Params, detail::numerics_among<numerics_of<Params>, O...>>(
      observer, calibrator, chosen.executor());
}
/// Parameters for everything `observer` saw, by its extremes. Options and throws: as above.
template <AnyParams Params, Accumulator Acc, class NonFinite, Option... O>
  requires CalibratorFor<MinMaxCalibrator, Acc, Params,
                         detail::numerics_among<numerics_of<Params>, O...>>
[[nodiscard]] auto calibrate(
    const Observer<Acc, typename Params::granularity_type, NonFinite>& observer,
    const O&... options) {
  return tq::calibrate<Params>(observer, MinMaxCalibrator{}, options...);
}

/// Parameters by a calibrator, from what one accumulator per block keeps: calibrate<Params,
/// Histogram>(x, MseCalibrator{}). They are those of the values as float32. Parameters of an empty
/// tensor are those of zeros. Options: a granularity, numerics, an executor, on which the result
/// does not depend, a backend. Throws: `errc::no_data` when one of its blocks has no finite value;
/// `errc::bad_axis`, `errc::bad_group_size` when the granularity does not fit; what the calibrator
/// throws.
template <AnyParams Params, Accumulator Acc, class C, Readable X = ConstTensorView, Option... O,
          Backend B = detail::backend_among<O...>>
  requires CalibratorFor<C, Acc, Params, detail::numerics_among<numerics_of<Params>, O...>>
[[nodiscard]] auto calibrate(const X& x, const C& calibrator, const O&... options) {
  return detail::calibrate_readable<Params, Acc>(x, calibrator, options...);
}

/// Parameters that cover the range of every block of `x`. Options and throws: as above.
template <AnyParams Params, Readable X = ConstTensorView, Option... O,
          Backend B = detail::backend_among<O...>>
[[nodiscard]] auto calibrate(const X& x, const O&... options) {
  return detail::calibrate_readable<Params, MinMax>(x, MinMaxCalibrator{}, options...);
}

// --- deprecated forms ---

template <AnyParams Params, Backend B, class... Args>
[[deprecated("tq::calibrate: pass tq::on<B> as an option")]] auto calibrate(Args&&... args) {
  return tq::calibrate<Params>(std::forward<Args>(args)..., on<B>);
}
template <AnyParams Params, NumericsPolicy N, class... Args>
[[deprecated("tq::calibrate: pass the numerics as an option")]] auto calibrate(Args&&... args) {
  return tq::calibrate<Params>(std::forward<Args>(args)..., N{});
}
template <AnyParams Params, Accumulator Acc, class C, Backend B, class... Args>
[[deprecated("tq::calibrate: pass tq::on<B> as an option")]] auto calibrate(Args&&... args) {
  return tq::calibrate<Params, Acc, C>(std::forward<Args>(args)..., on<B>);
}
template <AnyParams Params, Accumulator Acc, class NonFinite, Option... O>
[[deprecated("tq::calibrate: leave {} out: options come in any order")]] auto calibrate(
    const Observer<Acc, typename Params::granularity_type, NonFinite>& observer,
    detail::Placeholder, const O&... options) {
  return tq::calibrate<Params>(observer, options...);
}
template <AnyParams Params, Accumulator Acc, class NonFinite, class C, Option... O>
[[deprecated("tq::calibrate: leave {} out: options come in any order")]] auto calibrate(
    const Observer<Acc, typename Params::granularity_type, NonFinite>& observer,
    const C& calibrator, detail::Placeholder, const O&... options) {
  return tq::calibrate<Params>(observer, calibrator, options...);
}
template <AnyParams Params, Readable X, Option... O, Backend B = detail::backend_among<O...>>
[[deprecated("tq::calibrate: leave {} out: options come in any order")]] auto calibrate(
    const X& x, const detail::InBraces<typename Params::granularity_type>& granularity,
    const O&... options) {
  return tq::calibrate<Params>(x, granularity.value, options...);
}
template <AnyParams Params, Accumulator Acc, class C, Readable X, Option... O,
          Backend B = detail::backend_among<O...>>
  requires CalibratorFor<C, Acc, Params>
[[deprecated("tq::calibrate: leave {} out: options come in any order")]] auto calibrate(
    const X& x, const C& calibrator,
    const detail::InBraces<typename Params::granularity_type>& granularity, const O&... options) {
  return tq::calibrate<Params, Acc>(x, calibrator, granularity.value, options...);
}

// --- calls that are mistakes ---

namespace detail {
template <class Params, class C, class Acc, class... Rest>
inline constexpr bool can_choose =
    CalibratorFor<C, Acc, Params, numerics_among<numerics_of<Params>, Rest...>>;

// The calibrator of a call with an observer: the first argument, unless it is an option.
template <class...>
struct calibrator_among {
  using type = MinMaxCalibrator;
};
template <class First, class... Rest>
  requires(!Option<First>)
struct calibrator_among<First, Rest...> {
  using type = First;
};
}  // namespace detail

// Does not compile, and says why.
template <AnyParams Params, Accumulator Acc, Granularity Gran, class NonFinite, class... Rest>
  requires(
      !std::same_as<Gran, typename Params::granularity_type> ||
      !detail::can_choose<Params, typename detail::calibrator_among<Rest...>::type, Acc, Rest...> ||
      !detail::rest_are_options<Rest...>)
[[nodiscard]] Params calibrate(const Observer<Acc, Gran, NonFinite>&, const Rest&...) {
  constexpr bool is_cut_alike = std::is_same_v<Gran, typename Params::granularity_type>;
  constexpr bool fits =
      detail::can_choose<Params, typename detail::calibrator_among<Rest...>::type, Acc, Rest...>;
  static_assert(is_cut_alike,
                "tq::calibrate: observer and scheme cut tensors differently: give the observer the "
                "granularity of the scheme, as in Observer<MinMax, PerChannel<0>>");
  static_assert(!is_cut_alike || fits,
                "tq::calibrate: this calibrator cannot choose from what the observer keeps: KL "
                "divergence, MSE and others need Observer<Histogram>");
  static_assert(!is_cut_alike || !fits,
                "tq::calibrate: after observer and calibrator come options: numerics, an executor; "
                "this argument is no option");
  return detail::no_result<Params>();
}
template <AnyParams Params, class X, class... Rest>
  requires(detail::tensor_kind<X> != detail::TensorKind::none &&
           (!Readable<X> || !detail::are_options<Rest...>))
[[nodiscard]] Params calibrate(const X&, const Rest&...) {
  constexpr bool is_real = detail::is_real_tensor<X>;
  static_assert(is_real,
                "tq::calibrate: the input is a tensor of real numbers: float, double, float16, "
                "bfloat16; this argument is not");
  static_assert(!is_real,
                "tq::calibrate: after the tensor come options: a granularity, numerics, an "
                "executor; this argument is no option. A calibrator needs the accumulator that it "
                "chooses from: calibrate<Params, Histogram>(x, MseCalibrator{})");
  return detail::no_result<Params>();
}
template <AnyParams Params, Accumulator Acc, Readable X, class C, class... Rest>
  requires(!detail::can_choose<Params, C, Acc, Rest...>)
[[nodiscard]] Params calibrate(const X&, const C&, const Rest&...) {
  constexpr bool fits = detail::can_choose<Params, C, Acc, Rest...>;
  static_assert(fits,
                "tq::calibrate: this calibrator cannot choose from what the accumulator keeps: KL "
                "divergence, MSE and others need Histogram");
  return detail::no_result<Params>();
}

}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/calibrate/calibrate.ipp>
#endif
