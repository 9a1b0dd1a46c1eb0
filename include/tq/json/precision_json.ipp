// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/precision_json.hpp.

#include <tq/json/json.hpp>
#include <tq/json/precision_json.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace tq::io {

TQ_API Json precision_to_json(const PrecisionSelection& selection,
                              const std::vector<std::string>& skipped,
                              const std::vector<NamedScheme>& specs) {
  const auto scheme_of = [&](const std::string& name) -> Json {
    if (name == float_scheme || find_scheme(name) != nullptr) return name;
    for (const NamedScheme& scheme : specs)
      if (scheme.name == name) {
        Json out = spec_to_json(scheme.spec);
        if (!scheme.spec.axis) out.erase("axis");  // its default depends on the tensor
        return out;
      }
    return named_scheme(name).type;  // which raises the error
  };
  Json nodes = Json::array(), skip = Json::array();
  for (const SelectedPrecision& node : selection.nodes)
    nodes.push_back(
        {{"name", node.name}, {"scheme", scheme_of(node.choice.scheme)}, {"reason", node.reason}});
  for (const std::string& name : skipped) skip.push_back({{"name", name}});
  return {{"version", 1},
          {"mode", "static"},
          {"default", "int8"},
          {"skip", std::move(skip)},
          {"nodes", std::move(nodes)}};
}

TQ_API const TimeProfile::Time* TimeProfile::find(const Key& key) const {
  const auto found = times.find(key);
  return found == times.end() ? nullptr : &found->second;
}

TQ_API Json time_profile_to_json(const TimeProfile& profile) {
  Json times = Json::array();
  for (const auto& [key, time] : profile.times)
    times.push_back({{"shape", key.shape},
                     {"scheme", key.scheme},
                     {"work", std::string(to_string(time.work))},
                     {"seconds", time.seconds}});
  return {{"version", 2},
          {"machine", profile.machine},
          {"threads", profile.threads},
          {"rows", profile.rows},
          {"times", std::move(times)}};
}

TQ_API TimeProfile time_profile_from_json(const Json& json, std::string_view path) {
  constexpr std::string_view where = "tq::io::time_profile_from_json";
  JsonFields fields(json, where, path);
  fields.require_version(2);
  TimeProfile out;
  out.machine = fields.string("machine");
  out.threads = static_cast<std::size_t>(
      fields.integer("threads", 1, std::numeric_limits<std::int32_t>::max()));
  out.rows =
      static_cast<std::size_t>(fields.integer("rows", 1, std::numeric_limits<std::int32_t>::max()));
  for (const Json& entry : fields.array("times")) {
    JsonFields time(entry, where, path);
    TimeProfile::Key key;
    for (const std::uint64_t extent : time.counts("shape")) key.shape.push_back(extent);
    key.scheme = time.string("scheme");
    const std::optional<TimedWork> work = find_timed_work(time.string("work"));
    if (!work || *work == TimedWork::none)
      time.refuse("work", "what takes a time, such as \"int8_product\"",
                  JsonFields::got(entry.at("work")));
    key.is_lookup = work == TimedWork::lookup;
    const double seconds = time.number("seconds");
    if (!(seconds > 0) || !std::isfinite(seconds))
      time.refuse("seconds", "a time above 0", JsonFields::got(entry.at("seconds")));
    if (!out.times.try_emplace(std::move(key), TimeProfile::Time{seconds, *work}).second)
      time.refuse("scheme", "each scheme once for a shape", "it twice");
    time.finish();
  }
  fields.finish();
  return out;
}

}  // namespace tq::io
