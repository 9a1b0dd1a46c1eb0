// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/named_calibrators.hpp.

#include <tq/model/named_calibrators.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/scheme/type_list.hpp>

#include <utility>
#include <variant>

namespace tq {

namespace detail {

template <class C, class... Obs>
[[nodiscard]] std::vector<std::string> usable_observers(std::type_identity<std::variant<Obs...>>) {
  static_assert(calibrates<C, typename C::observer>);
  std::vector<std::string> names{std::string(accumulator_name<typename C::observer>)};
  const auto add = [&]<class Acc>(std::type_identity<Acc>) {
    if (calibrates<C, Acc> && !std::same_as<Acc, typename C::observer>)
      names.emplace_back(accumulator_name<Acc>);
  };
  (add(std::type_identity<typename Obs::accumulator_type>{}), ...);
  return names;
}

}  // namespace detail

TQ_API const std::vector<std::string>& calibrator_kinds() {
  static const std::vector<std::string> names = detail::names_of(detail::named_calibrators{});
  return names;
}

TQ_API std::vector<std::string> observers_for(std::string_view calibrator) {
  require_one_of("calibrator", calibrator_kinds(), calibrator);
  return detail::with_name<std::vector<std::string>>(
      calibrator, detail::named_calibrators{}, []<class C>(std::type_identity<C>) {
        return detail::usable_observers<C>(detail::every_observer);
      });
}

TQ_API std::vector<std::string> calibrators_for(std::string_view observer) {
  require_one_of("observer", observer_kinds(), observer);
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

TQ_API ObserverChoice choose_observer(std::string observer, std::string calibrator) {
  if (observer.empty())
    observer = calibrator.empty() ? observer_kinds().front() : observers_for(calibrator).front();
  const std::vector<std::string> usable = calibrators_for(observer);
  if (calibrator.empty()) calibrator = usable.front();
  if (std::find(usable.begin(), usable.end(), calibrator) == usable.end())
    detail::raise_text(errc::bad_argument,
                       {"calibrator ", calibrator, ": expected observer ",
                        joined_names(observers_for(calibrator)), ", got ", observer});
  return {std::move(observer), std::move(calibrator)};
}

TQ_API bool can_calibrate(std::string_view calibrator, const QuantSpec& spec) {
  require_one_of("calibrator", calibrator_kinds(), calibrator);
  return spec.symmetry != FloatOffset::name ||
         detail::with_name<bool>(
             calibrator, detail::named_calibrators{},
             []<class C>(std::type_identity<C>) { return detail::knows_offsets<C>; });
}

TQ_API void require_calibrates(std::string_view calibrator, const QuantSpec& spec) {
  if (!can_calibrate(calibrator, spec))
    detail::raise_text(errc::unsupported,
                       {"calibrator ", calibrator, ": expected a symmetry without offsets, got ",
                        to_string(spec)});
}

}  // namespace tq
