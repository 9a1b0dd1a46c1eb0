// SPDX-License-Identifier: MIT
#pragma once
// JSON of observers: everything they saw, so that they are stored, merged elsewhere and continued.

#include <tq/json/detail/accumulator_json.hpp>
#include <tq/json/json.hpp>
#include <tq/observe/observer.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

namespace detail {

// {"name": "per_group", "group_size": 32, "axis": -1}, with the fields that are in use.
template <Granularity G>
[[nodiscard]] Json granularity_to_json(const G& granularity) {
  QuantSpec spec;
  spec.granularity = G::name;
  tq::detail::describe_granularity(granularity, spec);
  Json out{{"name", spec.granularity}};
  granularity_fields_to_json(spec, out);
  return out;
}

template <Granularity G>
[[nodiscard]] G granularity_from_json(const Json& json, std::string_view where,
                                      std::string_view path) {
  JsonFields fields(json, where, path);
  QuantSpec spec;
  spec.granularity = fields.string("name");
  if (spec.uses_axis()) (void)fields.at("axis");  // here it may not be absent
  granularity_fields_from_json(fields, spec);
  fields.finish();
  return in_document(where, path, [&] {
    const AnyGranularity named(spec);
    G granularity = tq::detail::granularity_from<G>::make(spec);
    QuantSpec own;
    own.granularity = G::name;
    tq::detail::describe_granularity(granularity, own);
    if (!(AnyGranularity(own) == named))
      tq::detail::raise_expected(errc::bad_argument, "",
                                 {"the granularity ", granularity_to_json(granularity).dump()},
                                 {json.dump()});
    return granularity;
  });
}

// The slots of a document: histograms packed, as a document of few bytes may have many of them.
template <class Acc>
struct StoredSlotsOf {
  using type = std::vector<Acc>;
};
template <class Acc>
  requires tq::detail::packs_slots<Acc>
struct StoredSlotsOf<Acc> {
  using type = tq::detail::PackedSlots<Acc>;
};
template <class Acc>
using StoredSlots = typename StoredSlotsOf<Acc>::type;

}  // namespace detail

/// {"accumulator": "min_max", "granularity": {"name": "per_channel", "axis": 1}, "name": "relu1",
///  "batches": 3, "slots": [{"min": -1, ...}, ...]}, slots as in `accumulator_to_json`;
///  "prototype",
/// where slots do not start as an accumulator's default. Equal states give equal documents.
template <StorableAccumulator Acc, Granularity Gran, NonFinitePolicy NonFinite>
[[nodiscard]] Json observer_to_json(const Observer<Acc, Gran, NonFinite>& observer) {
  using Stored = AccumulatorJson<Acc>;
  Json out{{"accumulator", Stored::name()},
           {"granularity", detail::granularity_to_json(observer.granularity())},
           {"name", observer.name()},
           {"batches", observer.batches()}};
  Json prototype = Stored::fields(observer.prototype().state());
  if (prototype != Stored::fields(Acc{}.state())) out["prototype"] = std::move(prototype);
  Json& accumulators = out["slots"] = Json::array();
  observer.for_each_slot(
      [&](std::size_t, const Acc& slot) { accumulators.push_back(Stored::fields(slot.state())); });
  return out;
}

/// The observer of such an object, to continue; `path` names it in messages. With `AnyGranularity`
/// it may have any granularity. Slots take memory of the size of what the document says of them
/// until they are added to. Throws: as `accumulator_from_json`; `errc::bad_argument` for another
/// granularity; as `visit` for one that does not exist.
template <class Obs>
[[nodiscard]] Obs observer_from_json(const Json& json, std::string_view path = "observer") {
  using Acc = typename Obs::accumulator_type;
  constexpr std::string_view where = "tq::io::observer_from_json";
  JsonFields fields(json, where, path);
  detail::require_accumulator<Acc>(fields, where, path);
  const auto read = [&](const Json& state, const std::string& key) {
    const std::string at = std::string(path) + ": " + key;
    JsonFields slot(state, where, at);
    return detail::read_accumulator<Acc>(slot, where, at);
  };
  auto granularity = detail::granularity_from_json<typename Obs::granularity_type>(
      fields.at("granularity"), where, std::string(path) + ": granularity");
  std::string name = fields.string("name");
  const std::uint64_t batches = fields.count("batches");
  Acc prototype = fields.has("prototype") ? read(fields.at("prototype"), "prototype") : Acc{};
  detail::StoredSlots<Acc> states;
  for (const Json& state : fields.array("slots")) {
    const std::string key = "slots[" + std::to_string(states.size()) + "]";
    Acc slot = read(state, key);
    // One that the prototype cannot become does not take it.
    if (prototype.empty())
      detail::in_document(where, std::string(path) + ": " + key, [&] { slot.merge(prototype); });
    states.push_back(std::move(slot));
  }
  fields.finish();
  return Obs(granularity, std::move(prototype), std::move(name),
             tq::detail::SlotStore<Acc>(std::move(states)), batches);
}

}  // namespace tq::io
