// SPDX-License-Identifier: MIT
#pragma once
// accumulator_name: what accumulators are called in documents and on command lines.

#include <tq/observe/abs_max.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/percentile.hpp>

#include <string_view>

namespace tq {

/// The name of an accumulator that can be chosen by name, and of an observer of such.
template <class Acc>
inline constexpr std::string_view accumulator_name = {};
template <>
inline constexpr std::string_view accumulator_name<MinMax> = "min_max";
template <>
inline constexpr std::string_view accumulator_name<MovingAverageMinMax> = "moving_average";
template <>
inline constexpr std::string_view accumulator_name<MeanStd> = "mean_std";
template <>
inline constexpr std::string_view accumulator_name<AbsMax> = "abs_max";
template <>
inline constexpr std::string_view accumulator_name<MeanAbs> = "mean_abs";
template <>
inline constexpr std::string_view accumulator_name<Histogram> = "histogram";
template <>
inline constexpr std::string_view accumulator_name<Percentile> = "percentile";

}  // namespace tq
