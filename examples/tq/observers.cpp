// SPDX-License-Identifier: MIT
#include "observers.hpp"

#include "names.hpp"
#include "stored_model.hpp"

#include <tq/io/observer_json.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace tool {

namespace {

using tq::errc;
using tq::io::Json;
using tq::io::detail::expected_got;
using tq::io::detail::shown;

template <class Obs>
const std::string& kind() {
  static const std::string name = tq::io::AccumulatorJson<typename Obs::accumulator_type>::name();
  return name;
}

template <class... Obs>
std::vector<std::string> kinds(std::type_identity<std::variant<Obs...>>) {
  return {kind<Obs>()...};
}

// Calls f(std::type_identity<Obs>{}) for the observer of that kind. Precondition: there is one.
template <class F, class First, class... Rest>
AnyObserver with_kind(const std::string& name, std::type_identity<std::variant<First, Rest...>>,
                      F&& f) {
  if constexpr (sizeof...(Rest) > 0)
    if (name != kind<First>())
      return with_kind(name, std::type_identity<std::variant<Rest...>>{}, f);
  return f(std::type_identity<First>{});
}

constexpr std::type_identity<AnyObserver> all{};

// The extremes of batches are told apart by their numbers.
tq::MovingAverageMinMax later_by(const tq::MovingAverageMinMax& seen, std::uint64_t batches) {
  tq::MovingAverageMinMax::State state = seen.state();
  for (auto& batch : state.batches) {
    if (batch.index > std::numeric_limits<std::uint64_t>::max() - batches)
      throw tq::error(errc::bad_argument, "expected numbers of batches below 2^64, got more");
    batch.index += batches;
  }
  return tq::MovingAverageMinMax::from_state(state);
}

// From the smallest to the largest value.
template <class Acc>
std::optional<tq::Range> extremes(const Acc& slot) {
  if constexpr (std::is_same_v<Acc, tq::MeanAbs>) {
    return std::nullopt;  // it keeps none
  } else if constexpr (std::is_same_v<Acc, tq::MovingAverageMinMax>) {
    if (slot.keeps() == tq::MovingAverageMinMax::Keeps::average) return std::nullopt;
    tq::Range r{slot.batches().front().min, slot.batches().front().max};
    for (const auto& batch : slot.batches())
      r = {std::min(r.min, batch.min), std::max(r.max, batch.max)};
    return r;
  } else {
    return slot.range();
  }
}

// True where no slot saw a value of any kind.
template <class Acc>
bool saw_nothing(const tq::Observer<Acc, tq::AnyGranularity>& o) {
  return std::ranges::all_of(o.slots(), [](const Acc& slot) { return slot.count() == 0; });
}

// Before a tensor of this many slots: those of an empty one wait for values; those that still wait
// make way for another number.
template <class Obs>
void prepare_slots(Obs& o, const tq::Shape& shape, std::size_t slots) {
  using Acc = typename Obs::accumulator_type;
  if (o.slots().size() == slots || !saw_nothing(o)) return;
  o = Obs(o.granularity(), o.prototype(), o.name(),
          std::vector<Acc>(shape.size() == 0 ? slots : 0, o.prototype()), o.batches());
}

}  // namespace

const std::vector<std::string>& observer_kinds() {
  static const std::vector<std::string> names = kinds(all);
  return names;
}

AnyObserver make_observer(const std::string& name, double constant,
                          const tq::AnyGranularity& granularity, const std::string& tensor) {
  require_known("observer", observer_kinds(), name);
  return with_kind(name, all, [&]<class Obs>(std::type_identity<Obs>) -> AnyObserver {
    using Acc = typename Obs::accumulator_type;
    if constexpr (std::is_same_v<Acc, tq::MovingAverageMinMax>)  // states of shards are merged
      return Obs(granularity, Acc(constant, Acc::Keeps::batches), tensor);
    else return Obs(granularity, Acc{}, tensor);
  });
}

void begin(AnyObserver& observer, const tq::Shape& shape) {
  std::visit(
      [&](auto& o) {
        const tq::AnyGranularity& granularity = o.granularity();
        granularity.require("observe", shape);
        const std::size_t slots = tq::param_count(granularity, shape);
        prepare_slots(o, shape, slots);
        if (!o.slots().empty() && shape.size() != 0 && slots != o.slots().size())
          throw tq::error(
              errc::shape_mismatch,
              expected_got(std::to_string(o.slots().size()) + " slots " +
                               to_string(granularity_of(observer)) + " as in the batches before",
                           std::to_string(slots) + " from shape " + to_string(shape)));
        o.begin(shape);
      },
      observer);
}

void add_part(AnyObserver& observer, const tq::Shape& shape, std::size_t first,
              std::span<const float> values) {
  std::visit([&](auto& o) { o.add_part(shape, first, values); }, observer);
}

void append(AnyObserver& observer, const AnyObserver& later) {
  const auto describe = [](const AnyObserver& o) {
    return kind_of(o) + " " + to_string(granularity_of(o));
  };
  const auto refuse = [](const std::string& expected, const std::string& got) {
    throw tq::error(errc::bad_argument, expected_got(expected, got));
  };
  if (describe(observer) != describe(later))
    refuse("observer " + describe(observer), describe(later));
  std::visit(
      [&]<class Obs>(Obs& o) {
        const Obs& other = std::get<Obs>(later);
        if (!o.slots().empty() && !other.slots().empty() &&
            o.slots().size() != other.slots().size())
          refuse(std::to_string(o.slots().size()) + " slots " + to_string(granularity_of(observer)),
                 std::to_string(other.slots().size()));
        if (o.batches() > std::numeric_limits<std::uint64_t>::max() - other.batches())
          refuse("fewer than 2^64 batches", "more");
        const std::uint64_t batches = o.batches() + other.batches();
        if constexpr (std::is_same_v<Obs, ObserverOf<tq::MovingAverageMinMax>>) {
          if (o.prototype().constant() != other.prototype().constant())
            refuse("constant " + std::to_string(o.prototype().constant()),
                   std::to_string(other.prototype().constant()));
          std::vector<tq::MovingAverageMinMax> slots;
          for (const auto& slot : other.slots()) slots.push_back(later_by(slot, o.batches()));
          o.merge(
              Obs(other.granularity(), other.prototype(), other.name(), std::move(slots), batches));
        } else {
          o.merge(other);
        }
        o.set_next_batch(batches);
      },
      observer);
}

Json to_json(const AnyObserver& observer) {
  return std::visit([](const auto& o) { return tq::io::observer_to_json(o); }, observer);
}

AnyObserver observer_from(const Json& json, std::string_view path) {
  tq::io::JsonFields fields(json, "state", path);
  const std::string name = fields.string("accumulator");
  require_known(std::string(path) + ": accumulator", observer_kinds(), name);
  return with_kind(name, all, [&]<class Obs>(std::type_identity<Obs>) -> AnyObserver {
    return tq::io::observer_from_json<Obs>(json, path);
  });
}

const std::string& kind_of(const AnyObserver& observer) {
  return observer_kinds()[observer.index()];
}

const std::string& name_of(const AnyObserver& observer) {
  return std::visit([](const auto& o) -> const std::string& { return o.name(); }, observer);
}

std::uint64_t batches_of(const AnyObserver& observer) {
  return std::visit([](const auto& o) { return o.batches(); }, observer);
}

const tq::AnyGranularity& granularity_of(const AnyObserver& observer) {
  return std::visit([](const auto& o) -> const tq::AnyGranularity& { return o.granularity(); },
                    observer);
}

Seen seen_by(const AnyObserver& observer) {
  return std::visit(
      [](const auto& o) {
        Seen seen;
        for (const auto& slot : o.slots()) {
          seen.values += slot.count();
          seen.nan += slot.nan_count();
          seen.infinite += slot.infinite_count();
          if (slot.empty()) {
            if (!seen.empty_slot) seen.empty_slot = seen.slots;
          } else if (const std::optional<tq::Range> r = extremes(slot)) {
            if (!seen.range) seen.range = r;
            seen.range =
                tq::Range{std::min(seen.range->min, r->min), std::max(seen.range->max, r->max)};
          }
          ++seen.slots;
        }
        return seen;
      },
      observer);
}

std::optional<tq::Range> range_of(const AnyObserver& observer, std::size_t slot) {
  return std::visit(
      [&](const auto& o) {
        const bool is_there = slot < o.slots().size() && !o.slots()[slot].empty();
        return is_there ? extremes(o.slots()[slot]) : std::nullopt;
      },
      observer);
}

std::optional<Kept> kept_by(const AnyObserver& observer, std::size_t slot) {
  if (const auto* o = std::get_if<ObserverOf<tq::Histogram>>(&observer))
    return Kept{{}, o->slots()[slot]};
  if (const auto* o = std::get_if<ObserverOf<tq::Percentile>>(&observer)) {
    const tq::Percentile& seen = o->slots()[slot];
    if (const tq::Histogram* bins = seen.histogram()) return Kept{{}, *bins};
    Kept kept{seen.values(), {}};
    kept.bins.add(kept.values);
    return kept;
  }
  return std::nullopt;
}

}  // namespace tool
