// SPDX-License-Identifier: MIT
#pragma once
// Observers whose accumulator and granularity are chosen at run time.

#include <tq/core/shape.hpp>
#include <tq/io/json.hpp>
#include <tq/model/any_granularity.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/observer.hpp>
#include <tq/observe/percentile.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tool {

template <class Acc>
using ObserverOf = tq::Observer<Acc, tq::AnyGranularity>;
using AnyObserver = std::variant<ObserverOf<tq::MinMax>, ObserverOf<tq::MovingAverageMinMax>,
                                 ObserverOf<tq::MeanStd>, ObserverOf<tq::AbsMax>, ObserverOf<tq::MeanAbs>,
                                 ObserverOf<tq::Histogram>, ObserverOf<tq::Percentile>>;

// In the order of AnyObserver.
[[nodiscard]] const std::vector<std::string>& observer_kinds();

// Throws: errc::unknown_name, errc::bad_argument for the constant of a moving average.
[[nodiscard]] AnyObserver make_observer(const std::string& kind, double constant,
                                        const tq::AnyGranularity& granularity,
                                        const std::string& tensor);
// Starts the next batch, a tensor of that shape, whose values add_part takes; an empty one decides on
// the number of slots until another comes. Throws: where it does not fit.
void begin(AnyObserver& observer, const tq::Shape& shape);
void add_part(AnyObserver& observer, const tq::Shape& shape, std::size_t first,
              std::span<const float> values);
// Adds what another observer of the same tensor saw, as batches that come after all of this one's.
// Throws: errc::bad_argument where kind, granularity, options or number of slots differ.
void append(AnyObserver& observer, const AnyObserver& later);

[[nodiscard]] tq::io::Json to_json(const AnyObserver& observer);
[[nodiscard]] AnyObserver observer_from(const tq::io::Json& json, std::string_view path);

[[nodiscard]] const std::string& kind_of(const AnyObserver& observer);
[[nodiscard]] const std::string& name_of(const AnyObserver& observer);
[[nodiscard]] std::uint64_t batches_of(const AnyObserver& observer);
[[nodiscard]] const tq::AnyGranularity& granularity_of(const AnyObserver& observer);

// All slots together.
struct Seen {
  std::size_t slots = 0;
  std::uint64_t values = 0, nan = 0, infinite = 0;
  std::optional<std::size_t> empty_slot;  // the first without a finite value
  std::optional<tq::Range> range;         // from the smallest to the largest value, where it is kept
};
[[nodiscard]] Seen seen_by(const AnyObserver& observer);
// What one slot saw; nothing if that is no finite value, or there is no such slot.
[[nodiscard]] std::optional<tq::Range> range_of(const AnyObserver& observer, std::size_t slot);

// What an observer keeps of the values of a slot: all of them, or only how often which were seen.
struct Kept {
  std::vector<float> values;
  tq::Histogram bins;  // of either
};
// Nothing where the observer keeps neither.
[[nodiscard]] std::optional<Kept> kept_by(const AnyObserver& observer, std::size_t slot);

}  // namespace tool
