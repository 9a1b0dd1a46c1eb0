// SPDX-License-Identifier: MIT
#pragma once
// A selection of schemes as a configuration, and profiles of times from JSON.

#include <tq/json/json.hpp>
#include <tq/json/json_text.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/select/precision_selector.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tq::io {

/// The schemes of a selection as a configuration that lists every tensor by its exact name, and the
/// tensors that it leaves out:
///
///     {"version": 1, "mode": "static", "default": "int8", "skip": [{"name": "layer.bias"}],
///      "nodes": [{"name": "layer.weight", "scheme": "int4_g32", "reason": "..."}]}
/// A scheme is "float", the name of a named scheme, or the object of `spec_to_json` that `specs`
/// has for other names. Throws: `errc::unknown_name` for a scheme that is none of these.
[[nodiscard]] inline Json precision_to_json(const PrecisionSelection& selection,
                                            const std::vector<std::string>& skipped = {},
                                            const std::vector<NamedScheme>& specs = {}) {
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

/// How long tensors of some shapes take in some schemes, as somebody measured it.
struct TimeProfile {
  /// A shape and a scheme, and whether rows are looked up in the tensor, as in an embedding.
  struct Key {
    std::vector<std::size_t> shape;
    std::string scheme;
    bool is_lookup = false;

    friend bool operator==(const Key&, const Key&) = default;
    friend bool operator<(const Key& a, const Key& b) noexcept {
      return std::tie(a.shape, a.scheme, a.is_lookup) < std::tie(b.shape, b.scheme, b.is_lookup);
    }
  };
  /// Seconds of a product, and the kind of product.
  struct Time {
    double seconds = 0;
    TimedWork work = TimedWork::none;

    friend bool operator==(const Time&, const Time&) = default;
  };

  std::string machine;  ///< where it was measured; of another one times mean nothing
  std::size_t threads = 1;
  std::size_t rows = 1;  ///< of activations
  std::map<Key, Time> times;

  /// Null where there is none.
  [[nodiscard]] const Time* find(const Key& key) const {
    const auto found = times.find(key);
    return found == times.end() ? nullptr : &found->second;
  }
};

/// {"version": 2, "machine": "...", "threads": 1, "rows": 1,
///  "times": [{"shape": [64, 64], "scheme": "int8", "work": "int8_product", "seconds": 1.5e-6}]}
[[nodiscard]] inline Json time_profile_to_json(const TimeProfile& profile) {
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

/// The profile of such a document. `path` names it in messages. Throws: `errc::malformed` for
/// fields that are missing, unknown or of the wrong type, times that are not above 0, and a shape
/// that has a scheme twice; `errc::unsupported` for another version: times of version 1 were those
/// to decode, which do not compare with these.
[[nodiscard]] inline TimeProfile time_profile_from_json(const Json& json,
                                                        std::string_view path = "profile") {
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
