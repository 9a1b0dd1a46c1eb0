// SPDX-License-Identifier: MIT
// Profiles of times: what is read is written as a document that means the same.
#include <tq/json/precision_json.hpp>

#include <cmath>

#include "fuzz.hpp"

namespace {

using namespace tq;
using tq::io::Json;

const fuzz::Target profile_target("profile", [](fuzz::Bytes bytes) {
  fuzz::accepts([&] {
    const io::TimeProfile profile =
        io::time_profile_from_json(io::parse_json(std::string(bytes.begin(), bytes.end())));
    const Json json = io::time_profile_to_json(profile);
    const io::TimeProfile again = io::time_profile_from_json(io::parse_json(json.dump()));
    fuzz::require(io::time_profile_to_json(again) == json && again.times == profile.times,
                  "a profile that is read as it was written");
    for (const auto& [key, time] : profile.times) {
      fuzz::require(profile.find(key) == &time, "a time for each key");
      fuzz::require(std::isfinite(time.seconds) && time.seconds > 0, "times above 0");
    }
  });
});

}  // namespace
