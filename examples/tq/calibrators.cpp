// SPDX-License-Identifier: MIT
#include "calibrators.hpp"

#include "commands.hpp"
#include "common/encoding.hpp"
#include "names.hpp"

#include <tq/calibrate/aciq.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/calibrate/mean_abs.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/min_max.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/model/type_list.hpp>
#include <tq/model/visit.hpp>

#include <algorithm>
#include <concepts>
#include <span>
#include <string_view>
#include <type_traits>

namespace tool {

namespace {

using examples::Types;
using tq::errc;

// A calibrator by name, with the observer that is taken for it.
struct MinMax {
  static constexpr std::string_view name = "min_max";
  using observer = tq::MinMax;
  static auto make(const CalibratorOptions&) { return tq::MinMaxCalibrator{}; }
};
struct Percentile {
  static constexpr std::string_view name = "percentile";
  using observer = tq::Percentile;
  static auto make(const CalibratorOptions& o) {
    tq::PercentileCalibrator c;
    c.lower = o.lower.value_or(c.lower);
    c.upper = o.upper.value_or(c.upper);
    return c;
  }
};
struct MeanAbs {
  static constexpr std::string_view name = "mean_abs";
  using observer = tq::MeanAbs;
  static auto make(const CalibratorOptions&) { return tq::MeanAbsCalibrator{}; }
};
struct MeanStd {
  static constexpr std::string_view name = "mean_std";
  using observer = tq::MeanStd;
  static auto make(const CalibratorOptions& o) {
    tq::MeanStdCalibrator c;
    c.deviations = o.deviations.value_or(c.deviations);
    return c;
  }
};
struct Mse {
  static constexpr std::string_view name = "mse";
  using observer = tq::Histogram;
  static auto make(const CalibratorOptions&) { return tq::MseCalibrator{}; }
};
struct Lp {
  static constexpr std::string_view name = "lp";
  using observer = tq::Histogram;
  static auto make(const CalibratorOptions& o) {
    tq::LpCalibrator c;
    c.norm = o.norm.value_or(c.norm);
    return c;
  }
};
struct Kl {
  static constexpr std::string_view name = "kl";
  using observer = tq::Histogram;
  static auto make(const CalibratorOptions&) { return tq::KlDivergenceCalibrator{}; }
};
struct Entropy {
  static constexpr std::string_view name = "entropy";
  using observer = tq::Histogram;
  static auto make(const CalibratorOptions&) { return tq::EntropyCalibrator{}; }
};
struct AciqLaplace {
  static constexpr std::string_view name = "aciq_laplace";
  using observer = tq::Histogram;
  static auto make(const CalibratorOptions&) { return tq::AciqCalibrator<tq::Laplace>{}; }
};
struct AciqGauss {
  static constexpr std::string_view name = "aciq_gauss";
  using observer = tq::MeanStd;
  static auto make(const CalibratorOptions&) { return tq::AciqCalibrator<tq::Gauss>{}; }
};
using All = tq::TypeList<MinMax, Percentile, MeanAbs, MeanStd, Mse, Lp, Kl, Entropy, AciqLaplace, AciqGauss>;

using AnyParams = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
template <class C>
using made = decltype(C::make(CalibratorOptions{}));
template <class C, class Acc>
inline constexpr bool fits = tq::CalibratorFor<made<C>, Acc, AnyParams>;

// Calls f.template operator()<Acc>() for the accumulator of every observer.
template <class F, class... Obs>
void for_each_observer(std::type_identity<std::variant<Obs...>>, F&& f) {
  (f.template operator()<typename Obs::accumulator_type>(), ...);
}

template <class F, class... Cs>
void for_each_calibrator(tq::TypeList<Cs...>, F&& f) {
  (f.template operator()<Cs>(), ...);
}

template <class C>
std::vector<std::string> observers_of() {
  std::vector<std::string> names;
  std::size_t i = 0;
  for_each_observer(std::type_identity<AnyObserver>{}, [&]<class Acc>() {
    const std::string& name = observer_kinds()[i++];
    static_assert(fits<C, typename C::observer>);
    if constexpr (std::same_as<Acc, typename C::observer>) names.insert(names.begin(), name);
    else if constexpr (fits<C, Acc>) names.push_back(name);
  });
  return names;
}

template <class C, class Acc>
std::vector<tq::Range> ranges(std::span<const Acc> slots, const CalibratorOptions& options,
                              const tq::QuantSpec& spec) {
  const auto calibrator = C::make(options);
  std::vector<tq::Range> out;
  const auto choose = [&]<class Params>(std::type_identity<Params>) {
    for (const Acc& slot : slots)
      out.push_back(calibrator.template range<Params, tq::numerics::onnx>(slot));
  };
  if constexpr (std::same_as<C, MinMax>) choose(std::type_identity<AnyParams>{});  // of all types
  else
    tq::visit_type<Types>(spec, [&]<class T, class S>() {
      choose(std::type_identity<tq::QuantParams<T, tq::PerTensor, S>>{});
    });
  return out;
}

// Of an empty tensor all parameters are those of zeros.
template <class Acc>
bool is_empty_tensor(const ObserverOf<Acc>& o) {
  return o.batches() != 0 &&
         std::ranges::all_of(o.slots(), [](const Acc& slot) { return slot.count() == 0; });
}

template <class Acc>
std::span<const Acc> chosen_slots(std::span<const Acc> slots, std::optional<std::size_t> only) {
  if (slots.empty()) throw tq::error(errc::no_data, "expected data, got no values at all");
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i].empty() && only.value_or(i) == i)
      throw tq::error(errc::no_data, "expected finite values in every slot, got none in slot " +
                                         std::to_string(i) + " of " + std::to_string(slots.size()));
  return only ? slots.subspan(*only, 1) : slots;
}

}  // namespace

void require_settings_of(const CalibratorOptions& options,
                         const std::vector<std::string>& calibrators) {
  for (const CalibratorSetting& setting : calibrator_settings)
    if ((options.*setting.value).has_value() &&
        std::find(calibrators.begin(), calibrators.end(), setting.calibrator) == calibrators.end())
      throw UsageError(std::string(setting.option) + ": expected calibrator " + setting.calibrator +
                       ", got " + (calibrators.empty() ? "none" : joined(calibrators)));
}

const std::vector<std::string>& calibrator_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for_each_calibrator(All{}, [&]<class C>() { list.emplace_back(C::name); });
    return list;
  }();
  return names;
}

std::vector<std::string> observers_for(const std::string& calibrator) {
  require_known("calibrator", calibrator_kinds(), calibrator);
  return tq::detail::with_name<std::vector<std::string>>(
      calibrator, All{}, []<class C>(std::type_identity<C>) { return observers_of<C>(); });
}

std::vector<std::string> calibrators_for(const std::string& observer) {
  require_known("observer", observer_kinds(), observer);
  std::vector<std::string> names;
  for (const std::string& calibrator : calibrator_kinds()) {
    const std::vector<std::string> usable = observers_for(calibrator);
    if (std::find(usable.begin(), usable.end(), observer) != usable.end())
      names.push_back(calibrator);
  }
  // The first of those that the observer is the default of.
  const auto first = std::find_if(names.begin(), names.end(), [&](const std::string& calibrator) {
    return observers_for(calibrator).front() == observer;
  });
  if (first != names.end()) std::rotate(names.begin(), first, first + 1);
  return names;
}

std::vector<tq::Range> chosen_ranges(const AnyObserver& observer, const CalibratorOptions& options,
                                     const tq::QuantSpec& spec, std::optional<std::size_t> slot) {
  const std::string name =
      options.name.empty() ? calibrators_for(kind_of(observer)).front() : options.name;
  require_known("calibrator", calibrator_kinds(), name);
  return tq::detail::with_name<std::vector<tq::Range>>(
      name, All{}, [&]<class C>(std::type_identity<C>) {
        return std::visit(
            [&]<class Acc>(const ObserverOf<Acc>& o) -> std::vector<tq::Range> {
              if constexpr (fits<C, Acc>) {
                if (is_empty_tensor(o))
                  return std::vector<tq::Range>(slot ? 1 : o.slots().size(), tq::Range{0, 0});
                return ranges<C, Acc>(chosen_slots(o.slots(), slot), options, spec);
              } else
                throw tq::error(errc::bad_argument, "calibrator " + name + ": expected observer " +
                                                        joined(observers_of<C>()) + ", got " +
                                                        kind_of(observer));
            },
            observer);
      });
}

}  // namespace tool
