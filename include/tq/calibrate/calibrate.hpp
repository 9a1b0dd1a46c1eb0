// SPDX-License-Identifier: MIT
#pragma once
// calibrate: from what an observer saw, or straight from a tensor, to parameters.

#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/min_max.hpp>
#include <tq/core/detail/flat_range.hpp>
#include <tq/core/detail/mistakes.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/options.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/observe/concepts.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tq {

/// Parameters for everything `observer` saw: the calibrator chooses each slot's range, the symmetry
/// turns it into scale and zero point, `N`'s degenerate policy deals with ranges that have no
/// usable scale. The parameters remember `N`: operations use it unless they are told another. Slots
/// are spread over `executor`; the result does not depend on it. Throws:
/// `errc::no_data` when the observer, or one of its slots, saw no finite value; what the calibrator
/// throws.
template <AnyParams Params, NumericsPolicy N = numerics_of<Params>, Accumulator Acc,
          class NonFinite, class C = MinMaxCalibrator, Executor E = Serial>
requires CalibratorFor<C, Acc, Params, N>
[[nodiscard]] params_under<Params, N> calibrate(
    const Observer<Acc, typename Params::granularity_type, NonFinite>& observer,
    const C& calibrator = {}, const N& = {}, const E& executor = serial) {
  const std::string where =
      "tq::calibrate: " +
      (observer.name().empty() ? std::string() : "tensor '" + observer.name() + "': ");
  const std::span<const Acc> accumulators = observer.accumulators();
  if (accumulators.empty())
    raise(errc::no_data, where + "expected data, but the observer saw none");
  for (std::size_t i = 0; i < accumulators.size(); ++i)
    if (accumulators[i].empty())
      raise(errc::no_data, where + "expected finite values in every slot, but slot " +
                               std::to_string(i) + " of " + std::to_string(accumulators.size()) +
                               " saw none");
  std::vector<Range> ranges(accumulators.size());
  const auto choose = [&](std::size_t i) {
    ranges[i] = calibrator.template range<Params, N>(accumulators[i]);
  };
  choose(0);  // a calibrator with impossible options throws here, not on another thread
  executor(accumulators.size() - 1, [&](std::size_t i) { choose(i + 1); });
  return fit_params<params_under<Params, N>, N>(observer.granularity(), ranges);
}

namespace detail {
template <class Params, class Acc, class B, Real T, class C, class N, class E>
[[nodiscard]] params_under<Params, N> calibrate_tensor(
    const TensorView<const T>& x, const C& calibrator,
    const typename Params::granularity_type& granularity, const N& numerics, const E& executor) {
  require_possible("tq::calibrate", granularity, x.shape());
  if (x.size() == 0)  // there may be parameters all the same: they are those of zeros
    return fit_params<params_under<Params, N>, N>(
        granularity, std::vector<Range>(param_count(granularity, x.shape()), Range{0.0f, 0.0f}));
  using Seen = Observer<Acc, typename Params::granularity_type>;
  const auto see = [&](Seen& observer) {
    observer.template observe<B>(x, executor);
    return calibrate<Params>(observer, calibrator, numerics, executor);
  };
  if constexpr (is_large<Acc>) {  // its constructor takes one
    return see(*std::make_unique<Seen>(granularity));
  } else {
    Seen observer(granularity);
    return see(observer);
  }
}
}  // namespace detail

/// Parameters by a calibrator, from what one accumulator per block keeps: calibrate<Params,
/// Histogram>(x, MseCalibrator{}). They are those of the values as float32, and do not depend on
/// `executor`. Parameters of an empty tensor are those of zeros. Throws: `errc::no_data` when one
/// of its blocks has no finite value; `errc::bad_axis`, `errc::bad_group_size` when the granularity
/// does not fit; what the calibrator throws.
template <AnyParams Params, Accumulator Acc, class C, Backend B = default_backend,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial, Readable X = ConstTensorView>
requires CalibratorFor<C, Acc, Params, N>
[[nodiscard]] params_under<Params, N> calibrate(
    const X& x, const C& calibrator,
    typename Params::granularity_type granularity = typename Params::granularity_type{},
    const N& numerics = {}, const E& executor = serial) {
  detail::require_axes<X, typename Params::granularity_type>();
  return detail::calibrate_tensor<Params, Acc, B>(detail::read(x).view(), calibrator, granularity,
                                                  numerics, executor);
}

/// Parameters that cover the range of every block of `x`. Throws: as above.
template <AnyParams Params, Backend B = default_backend, NumericsPolicy N = numerics_of<Params>,
          Executor E = Serial, Readable X = ConstTensorView>
[[nodiscard]] params_under<Params, N> calibrate(
    const X& x, typename Params::granularity_type granularity = typename Params::granularity_type{},
    const N& numerics = {}, const E& executor = serial) {
  detail::require_axes<X, typename Params::granularity_type>();
  return detail::calibrate_tensor<Params, MinMax, B>(detail::read(x).view(), MinMaxCalibrator{},
                                                     granularity, numerics, executor);
}

// --- options in any order: a granularity (of tensors), numerics, an executor ---

/// Parameters that cover the range of every block of `x`. Throws: as above.
template <AnyParams Params, Readable X, class... O>
requires detail::RangeOptions<O...>
[[nodiscard]] auto calibrate(const X& x, const O&... options) {
  using enum detail::OptionKind;
  using Gran = typename Params::granularity_type;
  const auto chosen = detail::choose<granularity, numerics, executor>(options...);
  return calibrate<Params>(x, chosen.template get<granularity, Gran>(),
                           chosen.template get<numerics, numerics_of<Params>>(),
                           chosen.template get<executor, Serial>());
}
/// Parameters by a calibrator, from what one accumulator per block keeps. Throws: as above.
template <AnyParams Params, Accumulator Acc, class C, Readable X, class... O>
requires CalibratorFor<C, Acc, Params> && detail::RangeOptions<O...>
[[nodiscard]] auto calibrate(const X& x, const C& calibrator, const O&... options) {
  using enum detail::OptionKind;
  using Gran = typename Params::granularity_type;
  const auto chosen = detail::choose<granularity, numerics, executor>(options...);
  return calibrate<Params, Acc>(x, calibrator, chosen.template get<granularity, Gran>(),
                                chosen.template get<numerics, numerics_of<Params>>(),
                                chosen.template get<executor, Serial>());
}
/// Parameters for everything `observer` saw, by its extremes or by a calibrator. Throws: as above.
template <AnyParams Params, Accumulator Acc, class NonFinite, Option First, class... O>
[[nodiscard]] auto calibrate(
    const Observer<Acc, typename Params::granularity_type, NonFinite>& observer, const First& first,
    const O&... options) {
  return calibrate<Params>(observer, MinMaxCalibrator{}, first, options...);
}
template <AnyParams Params, Accumulator Acc, class NonFinite, class C, class... O>
requires CalibratorFor<C, Acc, Params> && detail::FreeOptions<O...>
[[nodiscard]] auto calibrate(
    const Observer<Acc, typename Params::granularity_type, NonFinite>& observer,
    const C& calibrator, const O&... options) {
  using enum detail::OptionKind;
  const auto chosen = detail::choose<numerics, executor>(options...);
  return calibrate<Params>(observer, calibrator,
                           chosen.template get<numerics, numerics_of<Params>>(),
                           chosen.template get<executor, Serial>());
}

// --- calls that are mistakes ---

namespace detail {
template <class Params, class C, class Acc, class... Rest>
inline constexpr bool can_choose =
    CalibratorFor<C, Acc, Params, numerics_among<numerics_of<Params>, Rest...>>;

// True for the options of a call with a tensor: a granularity has its place, and may be converted.
template <class Params, class... Rest>
inline constexpr bool are_range_options =
    ((Option<Rest> || std::convertible_to<Rest, typename Params::granularity_type>)&&...);

// The calibrator of a call with an observer: the first argument, unless it is an option.
template <class...>
struct calibrator_among {
  using type = MinMaxCalibrator;
};
template <class First, class... Rest>
requires(!Option<First>) struct calibrator_among<First, Rest...> {
  using type = First;
};
}  // namespace detail

// Does not compile, and says why.
template <AnyParams Params, Accumulator Acc, Granularity Gran, class NonFinite, class... Rest>
requires(
    !std::same_as<Gran, typename Params::granularity_type> ||
    !detail::can_choose<Params, typename detail::calibrator_among<Rest...>::type, Acc, Rest...> ||
    !detail::rest_are_options<Rest...>) [[nodiscard]] Params
    calibrate(const Observer<Acc, Gran, NonFinite>&, const Rest&...) {
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
         (!Readable<X> || !detail::are_range_options<Params, Rest...>)) [[nodiscard]] Params
    calibrate(const X&, const Rest&...) {
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
requires(!detail::can_choose<Params, C, Acc, Rest...>) [[nodiscard]] Params
    calibrate(const X&, const C&, const Rest&...) {
  constexpr bool fits = detail::can_choose<Params, C, Acc, Rest...>;
  static_assert(fits,
                "tq::calibrate: this calibrator cannot choose from what the accumulator keeps: KL "
                "divergence, MSE and others need Histogram");
  return detail::no_result<Params>();
}

}  // namespace tq
