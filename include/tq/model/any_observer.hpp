// SPDX-License-Identifier: MIT
#pragma once
// AnyObserver: an observer whose accumulator and granularity are chosen at run time.

#include <tq/bodies.hpp>
#include <tq/core/detail/with_alternative.hpp>
#include <tq/core/shape.hpp>
#include <tq/model/detail/accumulator_name.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/scheme/any_granularity.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace tq {

/// An observer of any granularity.
template <class Acc>
using ObserverOf = Observer<Acc, AnyGranularity>;

/// An observer by one of the accumulators that have names.
using AnyObserver = std::variant<ObserverOf<MinMax>, ObserverOf<MovingAverageMinMax>,
                                 ObserverOf<MeanStd>, ObserverOf<AbsMax>, ObserverOf<MeanAbs>,
                                 ObserverOf<Histogram>, ObserverOf<Percentile>>;

namespace detail {

// Calls f(std::type_identity<Obs>{}) for the observer of that name. Precondition: there is one.
template <class F, class First, class... Rest>
AnyObserver with_observer(std::string_view name, std::type_identity<std::variant<First, Rest...>>,
                          F&& f) {
  if constexpr (sizeof...(Rest) > 0)
    if (name != accumulator_name<typename First::accumulator_type>)
      return with_observer(name, std::type_identity<std::variant<Rest...>>{}, f);
  return f(std::type_identity<First>{});
}

inline constexpr std::type_identity<AnyObserver> every_observer{};

}  // namespace detail

/// The names of all observers, in the order of `AnyObserver`.
[[nodiscard]] TQ_API const std::vector<std::string>& observer_kinds();

/// An observer that has seen nothing, of a tensor of that name; `constant` is that of
/// "moving_average", which keeps all batches, so that it can be merged. Throws:
/// `errc::unknown_name`; `errc::bad_argument` for the constant.
[[nodiscard]] TQ_API AnyObserver make_observer(std::string_view kind,
                                               const AnyGranularity& granularity,
                                               const std::string& tensor = {},
                                               double constant = 0.01);

/// The kind of an observer, the name of its tensor, the number of batches seen, its granularity.
[[nodiscard]] TQ_API const std::string& kind_of(const AnyObserver& observer);
[[nodiscard]] TQ_API const std::string& name_of(const AnyObserver& observer);
[[nodiscard]] TQ_API std::uint64_t batches_of(const AnyObserver& observer);
[[nodiscard]] TQ_API const AnyGranularity& granularity_of(const AnyObserver& observer);

/// Starts the next batch, a tensor of that shape, whose values `add_part` takes; an empty one
/// decides on the number of slots until another comes. Throws: `errc::bad_axis`,
/// `errc::bad_group_size` or `errc::shape_mismatch` where it does not fit.
TQ_API void begin(AnyObserver& observer, const Shape& shape);

/// Adds elements of the batch's tensor, from number `first` on, row-major.
template <Backend B = default_backend>
void add_part(AnyObserver& observer, const Shape& shape, std::size_t first,
              std::span<const float> values) {
  detail::with_alternative(observer, [&](auto& o) { o.add_part(shape, first, values, on<B>); });
}

/// Adds what another observer of the same tensor saw, as batches that come after all of this one's.
/// Throws: `errc::bad_argument` where kind, granularity, options or number of slots differ. Nothing
/// is added then.
TQ_API void append(AnyObserver& observer, const AnyObserver& later);

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/any_observer.ipp>
#endif
