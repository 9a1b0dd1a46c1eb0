// SPDX-License-Identifier: MIT
#pragma once
// Calibrators that are chosen by name: from what an observer saw to ranges.

#include <tq/bodies.hpp>
#include <tq/calibrate/aciq.hpp>
#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/calibrate/mean_abs.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/min_max.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/core/detail/with_alternative.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/error.hpp>
#include <tq/model/any_observer.hpp>
#include <tq/model/calibrator_options.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/visit.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tq {

namespace detail {

// A calibrator by name, with the observer that is taken for it.
struct by_min_max {
  static constexpr std::string_view name = "min_max";
  using observer = MinMax;
  static auto make(const CalibratorOptions&) { return MinMaxCalibrator{}; }
};
struct by_percentile {
  static constexpr std::string_view name = "percentile";
  using observer = Percentile;
  static auto make(const CalibratorOptions& o) {
    PercentileCalibrator c;
    c.lower = o.lower.value_or(c.lower);
    c.upper = o.upper.value_or(c.upper);
    return c;
  }
};
struct by_mean_abs {
  static constexpr std::string_view name = "mean_abs";
  using observer = MeanAbs;
  static auto make(const CalibratorOptions&) { return MeanAbsCalibrator{}; }
};
struct by_mean_std {
  static constexpr std::string_view name = "mean_std";
  using observer = MeanStd;
  static auto make(const CalibratorOptions& o) {
    MeanStdCalibrator c;
    c.deviations = o.deviations.value_or(c.deviations);
    return c;
  }
};
struct by_mse {
  static constexpr std::string_view name = "mse";
  using observer = Histogram;
  static auto make(const CalibratorOptions&) { return MseCalibrator{}; }
};
struct by_lp {
  static constexpr std::string_view name = "lp";
  using observer = Histogram;
  static auto make(const CalibratorOptions& o) {
    LpCalibrator c;
    c.norm = o.norm.value_or(c.norm);
    return c;
  }
};
struct by_kl {
  static constexpr std::string_view name = "kl";
  using observer = Histogram;
  static auto make(const CalibratorOptions& o) {
    KlDivergenceCalibrator c;
    c.count_zeros = o.count_zeros.value_or(0) != 0;
    return c;
  }
};
struct by_entropy {
  static constexpr std::string_view name = "entropy";
  using observer = Histogram;
  static auto make(const CalibratorOptions&) { return EntropyCalibrator{}; }
};
struct by_aciq_laplace {
  static constexpr std::string_view name = "aciq_laplace";
  using observer = Histogram;
  static auto make(const CalibratorOptions&) { return AciqCalibrator<Laplace>{}; }
};
struct by_aciq_gauss {
  static constexpr std::string_view name = "aciq_gauss";
  using observer = MeanStd;
  static auto make(const CalibratorOptions&) { return AciqCalibrator<Gauss>{}; }
};
using named_calibrators = TypeList<by_min_max, by_percentile, by_mean_abs, by_mean_std, by_mse,
                                   by_lp, by_kl, by_entropy, by_aciq_laplace, by_aciq_gauss>;

// The parameters that ranges are asked for where the type does not matter.
using any_params = QuantParams<int8, PerTensor, Symmetric>;
template <class C, class Acc>
inline constexpr bool calibrates =
    CalibratorFor<decltype(C::make(CalibratorOptions{})), Acc, any_params>;

// The slots to calibrate; each has seen something.
template <class Acc>
[[nodiscard]] std::span<const Acc> chosen_slots(std::span<const Acc> accumulators,
                                                std::optional<std::size_t> only) {
  if (accumulators.empty()) raise(errc::no_data, "expected data, got no values at all");
  for (std::size_t i = 0; i < accumulators.size(); ++i)
    if (accumulators[i].empty() && only.value_or(i) == i)
      raise_expected(errc::no_data, "", {"finite values in every slot"},
                     {"none in slot ", i, " of ", accumulators.size()});
  return only ? accumulators.subspan(*only, 1) : accumulators;
}

// Whether it can choose ranges that lie anywhere, as those of float offsets do, and not only how
// far they reach from 0.
template <class C>
inline constexpr bool knows_offsets =
    CalibratorFor<decltype(C::make(CalibratorOptions{})), typename C::observer,
                  QuantParams<uint8, PerTensor, FloatOffset>>;

template <class Types, class C, class Acc>
[[nodiscard]] std::vector<Range> slot_ranges(std::span<const Acc> accumulators,
                                             const CalibratorOptions& options,
                                             const QuantSpec& spec) {
  const auto calibrator = C::make(options);
  std::vector<Range> out;
  const auto choose = [&]<class Params>(std::type_identity<Params>) {
    for (const Acc& slot : accumulators)
      out.push_back(calibrator.template range<Params, numerics::onnx>(slot));
  };
  if constexpr (std::same_as<C, by_min_max>) choose(std::type_identity<any_params>{});
  else
    visit_type<Types>(spec, [&]<class T, class S>() {
      using Params = QuantParams<T, PerTensor, S>;
      if constexpr (!OffsetParams<Params> || knows_offsets<C>)  // which is asked before
        choose(std::type_identity<Params>{});
    });
  return out;
}

}  // namespace detail

/// The names of all calibrators.
[[nodiscard]] TQ_API const std::vector<std::string>& calibrator_kinds();

/// The observers that a calibrator can use, the default first. Throws: `errc::unknown_name`.
[[nodiscard]] TQ_API std::vector<std::string> observers_for(std::string_view calibrator);

/// The calibrators that can use an observer, the default first. Throws: `errc::unknown_name`.
[[nodiscard]] TQ_API std::vector<std::string> calibrators_for(std::string_view observer);

/// An observer and a calibrator that go together.
struct ObserverChoice {
  std::string observer, calibrator;
};

/// The observer and the calibrator of these names; one that is empty suits the other, and both are
/// "min_max" where both are. Throws: `errc::unknown_name`; `errc::bad_argument` where the
/// calibrator cannot use the observer.
[[nodiscard]] TQ_API ObserverChoice choose_observer(std::string observer, std::string calibrator);

/// Whether a calibrator can choose ranges for the scheme: those that find distances from 0 (kl,
/// aciq_laplace, aciq_gauss) make nothing of float offsets. Throws: `errc::unknown_name`.
[[nodiscard]] TQ_API bool can_calibrate(std::string_view calibrator, const QuantSpec& spec);

/// Throws: `errc::unknown_name`; `errc::unsupported` unless it can_calibrate.
TQ_API void require_calibrates(std::string_view calibrator, const QuantSpec& spec);

/// The range of every slot of an observer, or of that one, for type and symmetry of the spec.
/// Ranges of an empty tensor are those of zeros. Throws: `errc::no_data` where a slot saw no finite
/// value; `errc::bad_argument` for an observer or options that the calibrator cannot use;
/// as `require_calibrates` and `visit`.
template <class Types = all_integers>
[[nodiscard]] std::vector<Range> chosen_ranges(const AnyObserver& observer,
                                               const CalibratorOptions& options,
                                               const QuantSpec& spec,
                                               std::optional<std::size_t> slot = {}) {
  const std::string name =
      options.name.empty() ? calibrators_for(kind_of(observer)).front() : options.name;
  (void)choose_observer(kind_of(observer), name);
  require_calibrates(name, spec);
  return detail::with_name<std::vector<Range>>(
      name, detail::named_calibrators{}, [&]<class C>(std::type_identity<C>) {
        return detail::with_alternative(
            observer, [&]<class Acc>(const ObserverOf<Acc>& o) -> std::vector<Range> {
              if constexpr (detail::calibrates<C, Acc>) {
                const auto is_empty = [](const Acc& seen) { return seen.count() == 0; };
                if (o.batches() != 0 && std::ranges::all_of(o.accumulators(), is_empty))
                  return std::vector<Range>(slot ? 1 : o.accumulators().size(), Range{0, 0});
                return detail::slot_ranges<Types, C, Acc>(
                    detail::chosen_slots(o.accumulators(), slot), options, spec);
              } else {
                return {};  // choose_observer has refused it
              }
            });
      });
}

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/named_calibrators.ipp>
#endif
