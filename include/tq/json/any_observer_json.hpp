// SPDX-License-Identifier: MIT
#pragma once
// JSON of observers that are chosen at run time.

#include <tq/core/detail/with_alternative.hpp>
#include <tq/json/json.hpp>
#include <tq/json/observer_json.hpp>
#include <tq/model/any_observer.hpp>

#include <string>
#include <string_view>
#include <type_traits>

namespace tq::io {

/// As `observer_to_json` of the observer that it is.
[[nodiscard]] inline Json any_observer_to_json(const AnyObserver& observer) {
  return tq::detail::with_alternative(observer, [](const auto& o) { return observer_to_json(o); });
}

/// The observer that `any_observer_to_json` wrote; `path` names it in messages.
/// Throws: `errc::unknown_name` for an accumulator that does not exist; as `observer_from_json`.
[[nodiscard]] inline AnyObserver any_observer_from_json(const Json& json,
                                                        std::string_view path = "observer") {
  JsonFields fields(json, "tq::io::any_observer_from_json", path);
  const std::string name = fields.one_of("accumulator", observer_kinds());
  return tq::detail::with_observer(name, tq::detail::every_observer,
                                   [&]<class Obs>(std::type_identity<Obs>) -> AnyObserver {
                                     return observer_from_json<Obs>(json, path);
                                   });
}

}  // namespace tq::io
