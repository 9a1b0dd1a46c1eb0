// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/calibrate/detail/quantizer_grid.hpp.

#include <tq/calibrate/detail/quantizer_grid.hpp>

#include <algorithm>

namespace tq::detail {

TQ_CORE_API LevelTable make_level_table(int bits, float (*decode)(std::uint32_t),
                                        float (*quantize)(float)) {
  constexpr float most = std::numeric_limits<float>::max();
  std::vector<float> values;
  for (std::uint32_t code = 0; code < (1u << bits); ++code) {
    const float v = decode(code);
    if (is_finite(v) && quantize(v) == v) values.push_back(v == 0 ? 0.0f : v);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  LevelTable t;
  t.levels.assign(values.begin(), values.end());
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    t.thresholds.push_back(double(
        last_where(values[i], values[i + 1], [&](float x) { return quantize(x) <= values[i]; })));
  if (!is_finite(quantize(most)))
    t.highest =
        double(last_where(values.back(), most, [&](float x) { return is_finite(quantize(x)); }));
  if (!is_finite(quantize(-most)))
    t.lowest = -double(
        last_where(-values.front(), most, [&](float x) { return is_finite(quantize(-x)); }));
  return t;
}

TQ_CORE_API std::size_t QuantizerGrid::size() const {
  return is_integer ? static_cast<std::size_t>(std::int64_t{codes.max} - codes.min + 1)
                    : levels().levels.size();
}

TQ_CORE_API Range QuantizerGrid::symmetric(double top) const noexcept {
  const auto t = static_cast<float>(std::min(top, double(std::numeric_limits<float>::max())));
  return {by == Decides::top ? 0.0f : -t, t};
}

TQ_CORE_API bool QuantizerGrid::leaves_choice(Range seen) const {
  if (seen.min == seen.max || !(covered(seen) > 0)) return false;
  const Levels whole = fit(seen);
  for (float part = 0.5f; part > 0x1p-13f; part /= 2)
    if (fit({seen.min * part, seen.max * part}) != whole) return true;
  return false;
}

TQ_CORE_API double rounding_threshold(float (*round)(float), float from) {
  const float last = last_where(from, from + 1, [&](float x) { return round(x) <= from; });
  return std::nearbyint(double(last) * 0x1p20) * 0x1p-20;
}

}  // namespace tq::detail
