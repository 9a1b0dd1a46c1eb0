// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/scheme/quant_spec.hpp.

#include <tq/scheme/quant_spec.hpp>

namespace tq {

TQ_API bool QuantSpec::uses_axis() const noexcept {
  return granularity == PerChannel<>::name || granularity == PerGroup<>::name;
}

TQ_API int QuantSpec::axis_or_default() const noexcept {
  return axis.value_or(granularity == PerGroup<>::name ? -1 : 0);
}

namespace detail {

TQ_API std::string granularity_text(const QuantSpec& spec) {
  std::string text = spec.granularity;
  const auto numbers = [&](int first, std::string_view between, int second) {
    text.append("(").append(std::to_string(first)).append(between);
    text.append(std::to_string(second)).append(")");
  };
  if (spec.uses_group_size()) numbers(spec.group_size, ", axis ", spec.axis_or_default());
  else if (spec.uses_axis())
    text.append("(axis ").append(std::to_string(spec.axis_or_default())).append(")");
  else if (spec.uses_block()) numbers(spec.block_rows, ", ", spec.block_cols);
  return text;
}

}  // namespace detail

TQ_API std::string to_string(const QuantSpec& spec) {
  std::string text = spec.type;
  if (spec.is_cast()) text.append(" cast without scales");
  else text.append(" ").append(detail::granularity_text(spec)).append(" ").append(spec.symmetry);
  if (!spec.is_cast() && spec.scale_type != scale_type_name<float>)
    text.append(" scales ").append(spec.scale_type);
  if (spec.numerics != "onnx") text.append(" numerics ").append(spec.numerics);
  if (spec.calibrator != detail::min_max_calibrator::name)
    text.append(" by ").append(spec.calibrator);
  return text;
}

namespace detail {

TQ_API void require_valid(const char* function, const QuantSpec& spec) {
  require_known(function, "granularity", all_granularities{}, spec.granularity);
  require_known(function, "symmetry", all_symmetries{}, spec.symmetry);
  require_known(function, "numerics", all_numerics{}, spec.numerics);
  require_known(function, "calibrator", all_calibrators{}, spec.calibrator);
  if (spec.scale_type == Unscaled::name && spec.granularity != PerTensor::name)
    raise_expected(errc::unsupported, function,
                   {"granularity per_tensor for scale_type ", spec.scale_type},
                   {in_quotes(spec.granularity)});
  if (spec.symmetry == FloatOffset::name && !is_offset_scale(spec.scale_type))
    raise_expected(errc::unsupported, function,
                   {"scale_type to be one of ", known_names(all_offset_scales{}), " for symmetry ",
                    spec.symmetry},
                   {in_quotes(spec.scale_type)});
  const auto positive = [&](const char* what, int value) {
    if (value < 1)
      raise_expected(errc::bad_group_size, function, {what, " to be at least 1"}, {value});
  };
  if (spec.uses_group_size()) positive("group_size", spec.group_size);
  if (spec.uses_block()) {
    positive("block_rows", spec.block_rows);
    positive("block_cols", spec.block_cols);
  }
  if (spec.uses_axis()) {
    const int axis = spec.axis_or_default();
    if (axis < -max_rank || axis >= max_rank)
      raise_expected(errc::bad_axis, function, {"axis to be in [", -max_rank, ", ", max_rank, ")"},
                     {axis});
  }
}

TQ_API void describe_granularity(const PerTensor&, QuantSpec&) noexcept {}

TQ_API void describe_granularity(const PerToken&, QuantSpec&) noexcept {}

}  // namespace detail

}  // namespace tq
