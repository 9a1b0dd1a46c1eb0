// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/json.hpp.

#include <tq/json/json.hpp>
#include <tq/scheme/detail/known_names.hpp>

namespace tq::io {

namespace detail {

TQ_API void granularity_fields_to_json(const QuantSpec& spec, Json& out) {
  if (spec.uses_axis()) out["axis"] = spec.axis_or_default();
  if (spec.uses_group_size()) out["group_size"] = spec.group_size;
  if (spec.uses_block()) {
    out["block_rows"] = spec.block_rows;
    out["block_cols"] = spec.block_cols;
  }
}

TQ_API void granularity_fields_from_json(JsonFields& fields, QuantSpec& spec) {
  constexpr std::int64_t low = std::numeric_limits<int>::min(),
                         high = std::numeric_limits<int>::max();
  const auto integer = [&](const char* key) {
    return static_cast<int>(fields.integer(key, low, high));
  };
  if (spec.uses_axis() && fields.has("axis")) spec.axis = integer("axis");
  if (spec.uses_group_size()) spec.group_size = integer("group_size");
  if (spec.uses_block()) {
    spec.block_rows = integer("block_rows");
    spec.block_cols = integer("block_cols");
  }
}

TQ_API Json scheme_to_json(const QuantSpec& spec) {
  Json out{{"type", spec.type},
           {"granularity", spec.granularity},
           {"symmetry", spec.symmetry},
           {"scale_type", spec.scale_type}};
  granularity_fields_to_json(spec, out);
  return out;
}

TQ_API QuantSpec scheme_from_json(JsonFields& fields) {
  QuantSpec spec;
  spec.type = fields.string("type");
  spec.granularity = fields.string("granularity");
  spec.symmetry = fields.string("symmetry");
  if (fields.has("scale_type")) spec.scale_type = fields.string("scale_type");
  granularity_fields_from_json(fields, spec);
  return spec;
}

}  // namespace detail

TQ_API Json spec_to_json(const QuantSpec& spec) {
  Json out = detail::scheme_to_json(spec);
  out["numerics"] = spec.numerics;
  if (spec.calibrator != QuantSpec{}.calibrator) out["calibrator"] = spec.calibrator;
  return out;
}

namespace detail {

TQ_API QuantSpec spec_from_fields(JsonFields& fields) {
  QuantSpec spec = scheme_from_json(fields);
  if (fields.has("numerics")) spec.numerics = fields.string("numerics");
  if (fields.has("calibrator")) spec.calibrator = fields.string("calibrator");
  fields.finish();
  return spec;
}

}  // namespace detail

}  // namespace tq::io
