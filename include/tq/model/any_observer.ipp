// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/any_observer.hpp.

#include <tq/core/detail/with_alternative.hpp>
#include <tq/error.hpp>
#include <tq/model/any_observer.hpp>
#include <tq/numeric/shortest_text.hpp>
#include <tq/scheme/detail/known_names.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace tq {

namespace detail {

template <class... Obs>
[[nodiscard]] std::vector<std::string> observer_names(std::type_identity<std::variant<Obs...>>) {
  return {std::string(accumulator_name<typename Obs::accumulator_type>)...};
}

// The extremes of batches are told apart by their numbers.
TQ_API MovingAverageMinMax later_by(const MovingAverageMinMax& seen, std::uint64_t batches) {
  MovingAverageMinMax::State state = seen.state();
  for (auto& batch : state.batches) {
    if (batch.index > std::numeric_limits<std::uint64_t>::max() - batches)
      raise(errc::bad_argument, "expected numbers of batches below 2^64, got more");
    batch.index += batches;
  }
  return MovingAverageMinMax::from_state(state);
}

// Before a tensor of this many slots: those of an empty one wait for values; those that still wait
// make way for another number.
// Before a tensor of this many slots: those of an empty one wait for values; those that still wait
// make way for another number.
template <class Obs>
void prepare_slots(Obs& o, const Shape& shape, std::size_t slot_count) {
  using Acc = typename Obs::accumulator_type;
  const auto is_waiting = [](const Acc& slot) { return slot.count() == 0; };
  if (o.slot_count() == slot_count) return;
  bool all_wait = true;
  o.for_each_slot([&](std::size_t, const Acc& slot) { all_wait = all_wait && is_waiting(slot); });
  if (!all_wait) return;
  o = Obs(o.granularity(), o.prototype(), o.name(),
          std::vector<Acc>(shape.size() == 0 ? slot_count : 0, o.prototype()), o.batches());
}

}  // namespace detail

TQ_API const std::vector<std::string>& observer_kinds() {
  static const std::vector<std::string> names = detail::observer_names(detail::every_observer);
  return names;
}

TQ_API AnyObserver make_observer(std::string_view kind, const AnyGranularity& granularity,
                                 const std::string& tensor, double constant) {
  require_one_of("observer", observer_kinds(), kind);
  return detail::with_observer(
      kind, detail::every_observer, [&]<class Obs>(std::type_identity<Obs>) -> AnyObserver {
        using Acc = typename Obs::accumulator_type;
        if constexpr (std::is_same_v<Acc, MovingAverageMinMax>)
          return Obs(granularity, Acc(constant, Acc::Keeps::batches), tensor);
        else return Obs(granularity, Acc{}, tensor);
      });
}

TQ_API const std::string& kind_of(const AnyObserver& observer) {
  return observer_kinds()[observer.index()];
}

TQ_API const std::string& name_of(const AnyObserver& observer) {
  return detail::with_alternative(observer,
                                  [](const auto& o) -> const std::string& { return o.name(); });
}

TQ_API std::uint64_t batches_of(const AnyObserver& observer) {
  return detail::with_alternative(observer, [](const auto& o) { return o.batches(); });
}

TQ_API const AnyGranularity& granularity_of(const AnyObserver& observer) {
  return detail::with_alternative(
      observer, [](const auto& o) -> const AnyGranularity& { return o.granularity(); });
}

TQ_API void begin(AnyObserver& observer, const Shape& shape) {
  detail::with_alternative(observer, [&](auto& o) {
    const AnyGranularity& granularity = o.granularity();
    granularity.require("observe", shape);
    const std::size_t slot_count = param_count(granularity, shape);
    detail::prepare_slots(o, shape, slot_count);
    if (o.slot_count() != 0 && shape.size() != 0 && slot_count != o.slot_count())
      detail::raise_expected(
          errc::shape_mismatch, "",
          {o.slot_count(), " slots ", to_string(granularity), " as in the batches before"},
          {slot_count, " from shape ", shape.extents()});
    o.begin(shape);
  });
}

TQ_API void append(AnyObserver& observer, const AnyObserver& later) {
  const auto describe = [](const AnyObserver& o) {
    return kind_of(o) + " " + to_string(granularity_of(o));
  };
  const auto refuse = [](detail::TextParts expected, detail::TextParts got) {
    detail::raise_expected(errc::bad_argument, "", expected, got);
  };
  if (describe(observer) != describe(later))
    refuse({"observer ", describe(observer)}, {describe(later)});
  detail::with_alternative(observer, [&]<class Obs>(Obs& o) {
    const Obs& other = *std::get_if<Obs>(&later);
    if (o.slot_count() != 0 && other.slot_count() != 0 && o.slot_count() != other.slot_count())
      refuse({o.slot_count(), " slots ", to_string(o.granularity())}, {other.slot_count()});
    if (o.batches() > std::numeric_limits<std::uint64_t>::max() - other.batches())
      refuse({"fewer than 2^64 batches"}, {"more"});
    const std::uint64_t batches = o.batches() + other.batches();
    if constexpr (std::is_same_v<Obs, ObserverOf<MovingAverageMinMax>>) {
      if (o.prototype().constant() != other.prototype().constant())
        refuse({"constant ", detail::shortest_text(o.prototype().constant())},
               {detail::shortest_text(other.prototype().constant())});
      std::vector<MovingAverageMinMax> accumulators;
      for (const auto& slot : other.accumulators())
        accumulators.push_back(detail::later_by(slot, o.batches()));
      o.merge(Obs(other.granularity(), other.prototype(), other.name(), std::move(accumulators),
                  batches));
    } else {
      o.merge(other);
    }
    o.set_next_batch(batches);
  });
}

}  // namespace tq
