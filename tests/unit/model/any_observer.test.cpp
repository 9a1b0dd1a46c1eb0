// SPDX-License-Identifier: MIT
#include <tq/model/any_observer.hpp>
#include <tq/model/named_calibrators.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <set>
#include <string>
#include <vector>

using namespace tq;

TEST_CASE("every observer has a name, and is made by it") {
  const std::set<std::string> names(observer_kinds().begin(), observer_kinds().end());
  CHECK(names.size() == std::variant_size_v<AnyObserver>);
  for (const std::string& name : observer_kinds()) {
    const AnyObserver observer = make_observer(name, AnyGranularity{}, "x");
    CHECK(kind_of(observer) == name);
    CHECK(name_of(observer) == "x");
    CHECK(batches_of(observer) == 0);
  }
  test::raises(errc::unknown_name, {"min_max, moving_average", "did you mean \"histogram\""},
               [] { (void)make_observer("histgram", AnyGranularity{}); });
  test::raises(errc::bad_argument, {},
               [] { (void)make_observer("moving_average", AnyGranularity{}, "", 2.0); });
}

TEST_CASE("batches that are appended come after those before") {
  AnyObserver whole = make_observer("moving_average", AnyGranularity{}, "x", 0.5);
  AnyObserver early = whole, late = whole;
  const auto add = [](AnyObserver& to, float value) {
    begin(to, {2});
    add_part(to, {2}, 0, std::vector<float>{-value, value});
  };
  for (const float value : {1.0f, 2.0f, 3.0f}) add(whole, value);
  add(early, 1);
  add(late, 2);
  add(late, 3);
  append(early, late);
  CHECK(batches_of(early) == 3);
  const CalibratorOptions by{};
  CHECK(chosen_ranges<TypeList<int8>>(early, by, QuantSpec{}) ==
        chosen_ranges<TypeList<int8>>(whole, by, QuantSpec{}));
  CHECK(chosen_ranges<TypeList<int8>>(early, by, QuantSpec{}) ==
        std::vector<Range>{{-2.25f, 2.25f}});
  test::raises(errc::bad_argument, {"expected observer moving_average per_tensor", "got min_max"},
               [&] { append(early, make_observer("min_max", AnyGranularity{})); });
  test::raises(errc::bad_argument, {"constant 0.5"}, [&] {
    append(early, make_observer("moving_average", AnyGranularity{}, "x", 0.25));
  });
}

TEST_CASE("calibrators take the observers that know enough") {
  for (const std::string& calibrator : calibrator_kinds()) {
    INFO(calibrator);
    for (const std::string& observer : observers_for(calibrator)) {
      AnyObserver seen = make_observer(observer, AnyGranularity{});
      begin(seen, {4});
      add_part(seen, {4}, 0, std::vector<float>{-1, 0.5f, 0.75f, 1});
      const std::vector<Range> ranges =
          chosen_ranges<TypeList<int8>>(seen, {.name = calibrator}, QuantSpec{});
      REQUIRE(ranges.size() == 1);
      CHECK(ranges[0].max > 0);
      CHECK(ranges[0].max <= 4);
    }
  }
  CHECK(choose_observer("", "").calibrator == "min_max");
  CHECK(choose_observer("", "mse").observer == "histogram");
  CHECK(choose_observer("mean_std", "").calibrator == "mean_std");
  test::raises(errc::bad_argument,
               {"calibrator mse: expected observer histogram, percentile, got min_max"},
               [] { (void)choose_observer("min_max", "mse"); });
  test::raises(errc::no_data, {"got no values at all"}, [] {
    (void)chosen_ranges<TypeList<int8>>(make_observer("min_max", AnyGranularity{}), {},
                                        QuantSpec{});
  });
}

TEST_CASE("ranges of float offsets lie where the values do, and distances from 0 are none") {
  const QuantSpec spec{.type = "int8", .granularity = "per_tensor", .symmetry = "float_offset"};
  const std::set<std::string> from_zero{"kl", "aciq_laplace", "aciq_gauss"};
  for (const std::string& calibrator : calibrator_kinds()) {
    INFO(calibrator);
    AnyObserver seen = make_observer(observers_for(calibrator).front(), AnyGranularity{});
    std::vector<float> x;
    for (int i = 0; i < 4096; ++i) x.push_back(20 + static_cast<float>(i * 37 % 512) * 0x1p-9f);
    begin(seen, {x.size()});
    add_part(seen, {x.size()}, 0, x);
    const auto ranges = [&] {
      return chosen_ranges<TypeList<int8>>(seen, {.name = calibrator}, spec);
    };
    if (from_zero.contains(calibrator)) {
      const std::string name = "calibrator " + calibrator;
      test::raises(errc::unsupported, {name.c_str(), "without offsets", "float_offset"},
                   [&] { (void)ranges(); });
      continue;
    }
    REQUIRE(ranges().size() == 1);
    const Range range = ranges()[0];
    if (calibrator == "mean_abs") {  // what is meant by it
      CHECK(range.min == -range.max);
    } else {
      CHECK(range.min > 18);
      CHECK(range.max < 23);
      CHECK(range.min < range.max);
    }
  }
}
