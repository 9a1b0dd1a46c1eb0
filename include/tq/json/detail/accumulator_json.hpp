// SPDX-License-Identifier: MIT
#pragma once
// AccumulatorJson: what an accumulator saw as the fields of a JSON object, exactly.

#include <tq/json/json.hpp>
#include <tq/model/detail/accumulator_name.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/concepts.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/percentile.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

/// The name of an accumulator in documents, and its state as JSON: `fields` gives an object and
/// `state` reads one, field by field. Equal states give equal objects. An accumulator of the user's
/// specialises it; smallest model, for an accumulator with `state()` and `from_state()`:
///
///     template <>
///     struct tq::io::AccumulatorJson<Count> {
///       static std::string name() { return "count"; }
///       static Json fields(const Count::State& s) { return {{"n", s.n}}; }
///       static Count::State state(JsonFields& json) { return {json.count("n")}; }
///     };
template <class A>
struct AccumulatorJson;

/// An accumulator that can be stored: a model of `AccumulatorJson` exists.
template <class A>
concept StorableAccumulator = Accumulator<A> && requires(const A& a, JsonFields& json) {
  { AccumulatorJson<A>::name() } -> std::convertible_to<std::string>;
  { AccumulatorJson<A>::fields(a.state()) } -> std::same_as<Json>;
  { A::from_state(AccumulatorJson<A>::state(json)) } -> std::same_as<A>;
};

namespace detail {

// Calls f; an error that leaves it gets the function and the document in front.
template <class F>
decltype(auto) in_document(std::string_view where, std::string_view path, F&& f) {
#if TQ_HAS_EXCEPTIONS
  try {
    return f();
  } catch (const error& e) {
    fail(e.code(), where, path, "", e.what());
  }
#else
  static_cast<void>(where), static_cast<void>(path);
  return f();
#endif
}

// A float64 that rounds to x and has few digits where such a one is found, else x. The sign of zero
// depends on the order of the values and is dropped.
[[nodiscard]] inline double short_number(float x) noexcept {
  const double exact = double(x) + 0.0;
  double power = 1;
  for (int digits = 0; digits <= 22; ++digits, power *= 10) {  // 10^22 is the last exact power
    if (std::abs(exact) * power > 1e15) break;
    const double candidate = std::nearbyint(exact * power) / power;
    if (static_cast<float>(candidate) == x) return candidate;
  }
  return exact;
}

// Reads all digits of a `Digits`. Throws: `errc::malformed`.
template <class Digits>
[[nodiscard]] Digits read_digits(JsonFields& json, const char* key) {
  const std::vector<std::uint64_t> digits = json.counts(key);
  Digits out{};
  if (digits.size() != out.size())
    json.refuse(key, std::to_string(out.size()) + " digits", std::to_string(digits.size()));
  std::copy(digits.begin(), digits.end(), out.begin());
  return out;
}

// Throws: `errc::bad_argument` unless the object names accumulator A.
template <StorableAccumulator A>
void require_accumulator(JsonFields& json, std::string_view where, std::string_view path) {
  const std::string name = json.string("accumulator"), own = AccumulatorJson<A>::name();
  if (name != own)
    fail(errc::bad_argument, where, path, "accumulator", expected_got(own, shown(name)));
}

// The object's state as an accumulator; what `from_state` raises names the document, too.
template <StorableAccumulator A>
[[nodiscard]] A read_accumulator(JsonFields& json, std::string_view where, std::string_view path) {
  const auto state = AccumulatorJson<A>::state(json);
  json.finish();
  return in_document(where, path, [&] { return A::from_state(state); });
}

}  // namespace detail

/// {"min": -1.5, "max": 2, "finite": 1000, "nan": 0, "infinite": 0}
template <>
struct AccumulatorJson<MinMax> {
  [[nodiscard]] static std::string name() { return std::string(accumulator_name<MinMax>); }
  [[nodiscard]] static Json fields(const MinMax::State& s) {
    return {{"min", detail::short_number(s.min)},
            {"max", detail::short_number(s.max)},
            {"finite", s.finite},
            {"nan", s.nan},
            {"infinite", s.infinite}};
  }
  [[nodiscard]] static MinMax::State state(JsonFields& json) {
    return {json.real("min"), json.real("max"), json.count("finite"), json.count("nan"),
            json.count("infinite")};
  }
};

/// {"abs_max": 2, "finite": 1000, "nan": 0, "infinite": 0}
template <>
struct AccumulatorJson<AbsMax> {
  [[nodiscard]] static std::string name() { return std::string(accumulator_name<AbsMax>); }
  [[nodiscard]] static Json fields(const AbsMax::State& s) {
    return {{"abs_max", detail::short_number(s.abs_max)},
            {"finite", s.finite},
            {"nan", s.nan},
            {"infinite", s.infinite}};
  }
  [[nodiscard]] static AbsMax::State state(JsonFields& json) {
    return {json.real("abs_max"), json.count("finite"), json.count("nan"), json.count("infinite")};
  }
};

/// {"sum": [0, 0, 0, 0, 2147483648, 3, 0, 0, 0, 0, 0], "finite": 7, "nan": 0, "infinite": 0}, the
/// sum in digits of base 2^32, the lowest first, in steps of 2^-149.
template <>
struct AccumulatorJson<MeanAbs> {
  [[nodiscard]] static std::string name() { return std::string(accumulator_name<MeanAbs>); }
  [[nodiscard]] static Json fields(const MeanAbs::State& s) {
    return {{"sum", s.sum}, {"finite", s.finite}, {"nan", s.nan}, {"infinite", s.infinite}};
  }
  [[nodiscard]] static MeanAbs::State state(JsonFields& json) {
    using sum_type = decltype(MeanAbs::State::sum);
    return {detail::read_digits<sum_type>(json, "sum"), json.count("finite"), json.count("nan"),
            json.count("infinite")};
  }
};

/// The fields of `MinMax`, and in digits as those of `MeanAbs` "positive" and "negative", sums of
/// magnitudes, and "squares" in steps of 2^-298; "zeros", how many values are 0, which documents of
/// earlier versions do not say.
template <>
struct AccumulatorJson<MeanStd> {
  [[nodiscard]] static std::string name() { return std::string(accumulator_name<MeanStd>); }
  [[nodiscard]] static Json fields(const MeanStd::State& s) {
    Json out = AccumulatorJson<MinMax>::fields(s.seen);
    out["positive"] = s.positive;
    out["negative"] = s.negative;
    out["squares"] = s.squares;
    out["zeros"] = s.zeros;
    return out;
  }
  [[nodiscard]] static MeanStd::State state(JsonFields& json) {
    using sum_type = decltype(MeanStd::State::positive);
    using squares_type = decltype(MeanStd::State::squares);
    return {AccumulatorJson<MinMax>::state(json), detail::read_digits<sum_type>(json, "positive"),
            detail::read_digits<sum_type>(json, "negative"),
            detail::read_digits<squares_type>(json, "squares"),
            json.has("zeros") ? json.count("zeros") : 0};
  }
};

/// {"constant": 0.01, "batches": [0, 1], "min": [-1, -2], "max": [1, 3], "finite": 64, "nan": 0,
/// "infinite": 0, "keeps": "batches"}: the extremes of each batch; or those of the last one, with
/// "keeps": "average" and, from the second batch on, "average": [-2, 2], those of all before it.
/// Documents without "keeps" have all batches.
template <>
struct AccumulatorJson<MovingAverageMinMax> {
  [[nodiscard]] static std::string name() {
    return std::string(accumulator_name<MovingAverageMinMax>);
  }
  [[nodiscard]] static Json fields(const MovingAverageMinMax::State& s) {
    Json out{{"constant", s.constant},
             {"batches", Json::array()},
             {"min", Json::array()},
             {"max", Json::array()},
             {"finite", s.finite},
             {"nan", s.nan},
             {"infinite", s.infinite},
             {"keeps", s.keeps == MovingAverageMinMax::Keeps::average ? "average" : "batches"}};
    if (s.average)
      out["average"] = {detail::short_number(s.average->min), detail::short_number(s.average->max)};
    for (const MovingAverageMinMax::Batch& b : s.batches) {
      out["batches"].push_back(b.index);
      out["min"].push_back(detail::short_number(b.min));
      out["max"].push_back(detail::short_number(b.max));
    }
    return out;
  }
  [[nodiscard]] static MovingAverageMinMax::State state(JsonFields& json) {
    MovingAverageMinMax::State s{json.number("constant"),
                                 MovingAverageMinMax::Keeps::batches,
                                 {},
                                 {},
                                 json.count("finite"),
                                 json.count("nan"),
                                 json.count("infinite")};
    if (json.has("keeps")) {
      const std::string keeps = json.string("keeps");
      if (keeps != "average" && keeps != "batches")
        json.refuse("keeps", "\"average\" or \"batches\"", detail::shown(keeps));
      if (keeps == "average") s.keeps = MovingAverageMinMax::Keeps::average;
    }
    if (json.has("average")) {
      const std::vector<float> ends = json.floats("average");
      if (ends.size() != 2) json.refuse("average", "two numbers", std::to_string(ends.size()));
      s.average = MovingAverageMinMax::Average{ends[0], ends[1]};
    }
    const std::vector<std::uint64_t> indices = json.counts("batches");
    const std::vector<float> min = json.floats("min"), max = json.floats("max");
    for (const auto& [key, extremes] : {std::pair("min", &min), std::pair("max", &max)})
      if (extremes->size() != indices.size())
        json.refuse(key, "as many as batches, " + std::to_string(indices.size()),
                    std::to_string(extremes->size()));
    for (std::size_t i = 0; i < indices.size(); ++i)
      s.batches.push_back({indices[i], min[i], max[i]});
    return s;
  }
};

/// {"exponent": -4, "first": -3, "counts": [1, -100, 2], "min": -0.2, "max": 6.2, "nan": 0,
/// "infinite": 0, "zeros": 0, "values": [1000], "times": [3]}, where -n stands for n bins without
/// values; "values" are those that are not in bins, and "times" how often each was seen. Documents
/// without the last three have everything in bins, and do not say what of it is exactly 0.
template <std::size_t Bins, bool Absolute>
struct AccumulatorJson<BasicHistogram<Bins, Absolute>> {
  using Histogram = BasicHistogram<Bins, Absolute>;
  using State = typename Histogram::State;

  [[nodiscard]] static std::string name() {
    return std::string(Absolute ? "abs_histogram" : accumulator_name<tq::Histogram>) +
           (Bins == 2048 ? "" : "_" + std::to_string(Bins));
  }
  [[nodiscard]] static Json fields(const State& s) {
    Json counts = Json::array();
    for (std::size_t i = 0; i < s.counts.size();) {
      std::size_t end = i;
      while (end < s.counts.size() && s.counts[end] == 0) ++end;
      if (end - i < 2) counts.push_back(s.counts[i++]);
      else counts.push_back(-static_cast<std::int64_t>(end - std::exchange(i, end)));
    }
    Json values = Json::array(), times = Json::array();
    for (const ValueCount& v : s.values) {
      values.push_back(detail::short_number(v.value));
      times.push_back(v.count);
    }
    return {{"exponent", s.exponent},
            {"first", s.first},
            {"counts", std::move(counts)},
            {"min", detail::short_number(s.min)},
            {"max", detail::short_number(s.max)},
            {"nan", s.nan},
            {"infinite", s.infinite},
            {"zeros", s.zeros},
            {"values", std::move(values)},
            {"times", std::move(times)}};
  }
  [[nodiscard]] static State state(JsonFields& json) {
    State s;
    s.exponent =
        static_cast<std::int32_t>(json.integer("exponent", low<std::int32_t>, high<std::int32_t>));
    s.first = json.integer("first", low<std::int64_t>, high<std::int64_t>);
    const auto refuse = [&](std::size_t i, const std::string& got) {
      json.refuse("counts[" + std::to_string(i) + "]",
                  "an integer, and at most " + std::to_string(Bins) + " bins in all", got);
    };
    const Json::array_t& counts = json.array("counts");
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const Json& c = counts[i];
      if (!c.is_number_integer()) refuse(i, json.got(c));
      const bool is_run = !c.is_number_unsigned() && c.get<std::int64_t>() < 0;
      const std::uint64_t bins = is_run ? 0 - static_cast<std::uint64_t>(c.get<std::int64_t>()) : 1;
      if (bins > Bins - s.counts.size()) refuse(i, "more");
      if (is_run) s.counts.insert(s.counts.end(), static_cast<std::size_t>(bins), 0);
      else s.counts.push_back(c.get<std::uint64_t>());
    }
    s.min = json.real("min");
    s.max = json.real("max");
    s.nan = json.count("nan");
    s.infinite = json.count("infinite");
    if (json.has("zeros")) s.zeros = json.count("zeros");
    if (json.has("values") || json.has("times")) {
      const std::vector<float> values = json.floats("values");
      const std::vector<std::uint64_t> times = json.counts("times");
      if (times.size() != values.size())
        json.refuse("times", "as many as values, " + std::to_string(values.size()),
                    std::to_string(times.size()));
      for (std::size_t i = 0; i < values.size(); ++i) s.values.push_back({values[i], times[i]});
    }
    return s;
  }

 private:
  template <class T>
  static constexpr std::int64_t low = std::numeric_limits<T>::min();
  template <class T>
  static constexpr std::int64_t high = std::numeric_limits<T>::max();
};

/// {"values": [-0.2, 0.1, 6.2], "nan": 0, "infinite": 0}, values in ascending order, or of many
/// values "histogram", an object like that of `Histogram`, in place of "values".
template <>
struct AccumulatorJson<Percentile> {
  [[nodiscard]] static std::string name() { return std::string(accumulator_name<Percentile>); }
  [[nodiscard]] static Json fields(const Percentile::State& s) {
    Json out{{"nan", s.nan}, {"infinite", s.infinite}};
    if (s.histogram) {
      out["histogram"] = AccumulatorJson<Histogram>::fields(*s.histogram);
    } else {
      Json& values = out["values"] = Json::array();
      for (const float v : s.values) values.push_back(detail::short_number(v));
    }
    return out;
  }
  [[nodiscard]] static Percentile::State state(JsonFields& json) {
    Percentile::State s;
    if (json.has("histogram")) {
      JsonFields bins = json.object("histogram");
      s.histogram = AccumulatorJson<Histogram>::state(bins);
      bins.finish();
    } else {
      s.values = json.floats("values");
    }
    s.nan = json.count("nan");
    s.infinite = json.count("infinite");
    return s;
  }
};

/// {"accumulator": "min_max", "min": -1.5, ...}: its name, and the fields of its state. What is
/// equal gives equal documents, and all of it comes back exactly.
template <StorableAccumulator A>
[[nodiscard]] Json accumulator_to_json(const A& accumulator) {
  Json out = AccumulatorJson<A>::fields(accumulator.state());
  out["accumulator"] = AccumulatorJson<A>::name();
  return out;
}

/// The accumulator of such an object; `path` names it in messages. Throws: `errc::malformed` for a
/// field that is missing, unknown or of the wrong type; `errc::bad_argument` for another
/// accumulator; what `from_state` throws.
template <StorableAccumulator A>
[[nodiscard]] A accumulator_from_json(const Json& json, std::string_view path = "accumulator") {
  constexpr std::string_view where = "tq::io::accumulator_from_json";
  JsonFields fields(json, where, path);
  detail::require_accumulator<A>(fields, where, path);
  return detail::read_accumulator<A>(fields, where, path);
}

}  // namespace tq::io
