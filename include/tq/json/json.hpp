// SPDX-License-Identifier: MIT
#pragma once
// JSON of schemes and parameters. Documents describe themselves and are checked field by field.

#include <tq/bodies.hpp>
#include <tq/core/make_params.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/super_block_scales.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/json/detail/json_fields.hpp>
#include <tq/json/json_text.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/stored_scales.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/visit.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

namespace detail {

// The fields of a granularity beside its name, only those that are in use.
TQ_API void granularity_fields_to_json(const QuantSpec& spec, Json& out);

// The same back, for the granularity that `spec` names; the axis may be absent.
TQ_API void granularity_fields_from_json(JsonFields& fields, QuantSpec& spec);

// The fields of the scheme, which spec and parameters have in common.
[[nodiscard]] TQ_API Json scheme_to_json(const QuantSpec& spec);

[[nodiscard]] TQ_API QuantSpec scheme_from_json(JsonFields& fields);

// Scales as they are stored: float32 ones as numbers that are read back exactly, others as codes
// and what is beside them.
template <ScaleType S>
[[nodiscard]] Json scales_to_json(const Scales<S>& scales) {
  if constexpr (std::same_as<S, Unscaled>) {
    return Json::object();
  } else if constexpr (std::same_as<S, float>) {
    return {{"scales", scales.values()}};
  } else {
    const StoredScales stored = store_scales<S>(scales);
    Json out{{"scale_codes", stored.codes}};
    if constexpr (tq::detail::is_two_level<S>) out["tensor_scale"] = stored.factors.at(0);
    if constexpr (std::same_as<S, DoubleQuantized>) {
      out["block_scales"] = stored.factors;
      out["scale_offset"] = stored.offset;
    }
    if constexpr (SuperBlockScale<S>) out["super_scales"] = stored.factors;
    return out;
  }
}

// Offsets as scales are: numbers, or codes.
template <OffsetType S>
[[nodiscard]] Json offsets_to_json(const Offsets<S>& offsets) {
  if constexpr (std::same_as<S, float>) return {{"offsets", offsets.values()}};
  else if constexpr (SuperBlockScale<S>) {
    const StoredScales stored = store_scales<S>(offsets);
    return {{"offset_codes", stored.codes}, {"super_offsets", stored.factors}};
  } else return {{"offset_codes", offsets.stored()}};
}

template <OffsetType S>
[[nodiscard]] Offsets<S> offsets_from_json(JsonFields& fields) {
  if constexpr (std::same_as<S, float>) {
    return Offsets<S>(fields.floats("offsets"));
  } else {
    using code_type = typename Offsets<S>::stored_type;
    std::vector<code_type> codes;
    for (const std::int64_t code :
         fields.integers("offset_codes", 0, std::numeric_limits<code_type>::max()))
      codes.push_back(static_cast<code_type>(code));
    if constexpr (SuperBlockScale<S>)
      return Offsets<S>(std::move(codes), tq::detail::half_codes(fields.floats("super_offsets")));
    else return Offsets<S>(std::move(codes));
  }
}

template <ScaleType S>
[[nodiscard]] Scales<S> scales_from_json(JsonFields& fields) {
  if constexpr (std::same_as<S, Unscaled>) {
    return Scales<S>(1);
  } else if constexpr (std::same_as<S, float>) {
    return Scales<S>(fields.floats("scales"));
  } else {
    StoredScales stored;
    using code_type = typename Scales<S>::stored_type;
    for (const std::int64_t code :
         fields.integers("scale_codes", 0, std::numeric_limits<code_type>::max()))
      stored.codes.push_back(static_cast<std::uint16_t>(code));
    if constexpr (tq::detail::is_two_level<S>) stored.factors = {fields.real("tensor_scale")};
    if constexpr (std::same_as<S, DoubleQuantized>) {
      stored.factors = fields.floats("block_scales");
      stored.offset = fields.real("scale_offset");
    }
    if constexpr (SuperBlockScale<S>) stored.factors = fields.floats("super_scales");
    return restore_scales<S>(stored);
  }
}

}  // namespace detail

/// {"type": "int4", "granularity": "per_group", "group_size": 32, "axis": -1, "symmetry":
/// "symmetric",
///  "scale_type": "float32", "numerics": "onnx"}, with the fields that the granularity uses, and
/// "calibrator" where it is not "min_max".
[[nodiscard]] TQ_API Json spec_to_json(const QuantSpec& spec);

namespace detail {
// The spec of an object, field by field; names and sizes are not looked at.
[[nodiscard]] TQ_API QuantSpec spec_from_fields(JsonFields& fields);
}  // namespace detail

/// The spec of such an object; axis, scale_type, numerics and calibrator may be absent. `path`
/// names it in messages. Throws: `errc::malformed` for a field that is missing, unknown, unused or
/// of the wrong type; as `visit` for names that are not known and sizes out of range.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
[[nodiscard]] QuantSpec spec_from_json(const Json& json, std::string_view path = "spec") {
  JsonFields fields(json, "tq::io::spec_from_json", path);
  const QuantSpec spec = detail::spec_from_fields(fields);
  validate<Types, ScaleTypes>(spec);
  return spec;
}

/// The scheme as in `spec_to_json` without "numerics", then the scales and, where there are any,
/// "zero_points" or "offsets". Scales and offsets are read back exactly: float32 ones are "scales"
/// and "offsets"; of other types the codes are stored, "scale_codes", with "tensor_scale", with
/// "block_scales" and "scale_offset" or with "super_scales", and "offset_codes", with
/// "super_offsets". Scale type "none" has none of these.
template <AnyParams Params>
[[nodiscard]] Json params_to_json(const Params& params) {
  using Scale = typename Params::scale_type;
  static_assert(!std::same_as<Scale, Unscaled> || Params::is_per_tensor,
                "tq::io::params_to_json: a cast is per tensor");
  Json out = detail::scheme_to_json(spec_of(params));
  if constexpr (Params::is_inline) out["scales"] = params.scales();
  else out.update(detail::scales_to_json<Scale>(params.stored_scales()));
  if constexpr (Params::has_zero_point) {
    Json& zero_points = out["zero_points"] = Json::array();
    for (const std::int32_t z : params.zero_points()) zero_points.push_back(z);
  }
  if constexpr (OffsetParams<Params>) {
    if constexpr (Params::is_inline) out["offsets"] = params.offsets();
    else out.update(detail::offsets_to_json<Scale>(params.stored_offsets()));
  }
  return out;
}

/// Parameters of a static type. Throws: `errc::malformed` as `spec_from_json`; `errc::bad_argument`
/// when the object describes another scheme than `Params`; what `QuantParams` throws for values out
/// of range.
template <AnyParams Params>
[[nodiscard]] Params params_from_json(const Json& json, std::string_view path = "params") {
  using Gran = typename Params::granularity_type;
  using Scale = typename Params::scale_type;
  JsonFields fields(json, "tq::io::params_from_json", path);
  const QuantSpec spec = detail::scheme_from_json(fields);
  const auto other = [&](std::string_view key, std::string_view expected, std::string_view got) {
    detail::fail(errc::bad_argument, "tq::io::params_from_json", path, key,
                 detail::expected_got(expected, detail::shown(got)));
  };
  if (spec.type != Params::type::name) other("type", Params::type::name, spec.type);
  if (spec.granularity != Gran::name && !std::same_as<Gran, AnyGranularity>)
    other("granularity", Gran::name, spec.granularity);
  if (spec.symmetry != Params::symmetry_type::name)
    other("symmetry", Params::symmetry_type::name, spec.symmetry);
  if (spec.scale_type != scale_type_name<Scale>)
    other("scale_type", scale_type_name<Scale>, spec.scale_type);
  const Gran granularity = tq::detail::granularity_from<Gran>::make(spec);
  QuantSpec wanted = spec_of<Params>(granularity);
  wanted.numerics = spec.numerics;  // parameters of a file do not say them
  if (!(wanted == spec)) other("granularity", to_string(wanted), to_string(spec));
  auto scales = detail::scales_from_json<Scale>(fields);
  if constexpr (OffsetParams<Params>) {
    auto offsets = detail::offsets_from_json<Scale>(fields);
    fields.finish();
    return make_params<Params>(granularity, std::move(scales), std::move(offsets));
  } else {
    std::vector<std::int32_t> zero_points;
    if constexpr (Params::has_zero_point)
      for (const std::int64_t z :
           fields.integers("zero_points", std::numeric_limits<std::int32_t>::min(),
                           std::numeric_limits<std::int32_t>::max()))
        zero_points.push_back(static_cast<std::int32_t>(z));
    fields.finish();
    return make_params<Params>(granularity, std::move(scales), zero_points);
  }
}

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/json/json.ipp>
#endif
