// SPDX-License-Identifier: MIT
#pragma once
// JSON of schemes and parameters. Documents describe themselves and are checked field by field.

#include <tq/core/quant_params.hpp>
#include <tq/error.hpp>
#include <tq/io/failure.hpp>
#include <tq/io/json_text.hpp>
#include <tq/model/any_granularity.hpp>
#include <tq/model/closest_name.hpp>
#include <tq/model/known_names.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/model/stored_scales.hpp>
#include <tq/model/visit.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

/// The fields of a JSON object, read once each with their type checked; `finish` refuses the
/// others. Every error is `errc::malformed` and names document, key, expected and got.
class JsonFields {
 public:
  /// `where` names the function, `path` the document and `inside` the object's place in it
  /// ("nodes[3].scheme") in messages; the first two outlive this.
  JsonFields(const Json& object, std::string_view where, std::string_view path,
             std::string inside = {})
      : object_(object), where_(where), path_(path), inside_(std::move(inside)) {
    if (!object.is_object()) refuse("", "an object", got(object));
  }

  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }
  /// Throws: `errc::malformed` when it is absent.
  [[nodiscard]] const Json& at(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end()) refuse(key, "a value", "none");
    seen_.insert(key);
    return *found;
  }
  [[nodiscard]] std::string string(const char* key) { return string(key, at(key)); }
  /// A string out of a list. Throws: `errc::unknown_name` for another.
  [[nodiscard]] std::string one_of(const char* key, const std::vector<std::string>& known) {
    return one_of(key, at(key), known);
  }
  /// An array of such strings.
  [[nodiscard]] std::vector<std::string> some_of(const char* key,
                                                 const std::vector<std::string>& known) {
    std::vector<std::string> out;
    for (const Json& value : array(key))
      out.push_back(
          one_of(std::string(key) + "[" + std::to_string(out.size()) + "]", value, known));
    return out;
  }
  [[nodiscard]] bool boolean(const char* key) {
    const Json& value = at(key);
    if (!value.is_boolean()) refuse(key, "true or false", got(value));
    return value.get<bool>();
  }
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t min, std::int64_t max) {
    return integer(key, at(key), min, max);
  }
  /// An integer in [0, 2^64).
  [[nodiscard]] std::uint64_t count(const char* key) { return count(key, at(key)); }
  /// An array of integers in [min, max].
  [[nodiscard]] std::vector<std::int64_t> integers(const char* key, std::int64_t min,
                                                   std::int64_t max) {
    std::vector<std::int64_t> out;
    for (const Json& value : array(key))
      out.push_back(
          integer(std::string(key) + "[" + std::to_string(out.size()) + "]", value, min, max));
    return out;
  }
  /// An array of integers in [0, 2^64).
  [[nodiscard]] std::vector<std::uint64_t> counts(const char* key) {
    std::vector<std::uint64_t> out;
    for (const Json& value : array(key))
      out.push_back(count(std::string(key) + "[" + std::to_string(out.size()) + "]", value));
    return out;
  }
  /// An array, whatever its elements.
  [[nodiscard]] const Json::array_t& array(const char* key) {
    const Json& value = at(key);
    if (!value.is_array()) refuse(key, "an array", got(value));
    return value.get_ref<const Json::array_t&>();
  }
  /// The fields of an object in this one; its path is this one's.
  [[nodiscard]] JsonFields object(const char* key) { return {at(key), where_, path_, inside_}; }
  /// An array of numbers in the range of float32, each rounded once.
  [[nodiscard]] std::vector<float> floats(const char* key) {
    std::vector<float> out;
    for (const Json& value : array(key))
      out.push_back(real(std::string(key) + "[" + std::to_string(out.size()) + "]", value));
    return out;
  }
  /// A number in the range of float32, rounded once.
  [[nodiscard]] float real(const char* key) { return real(key, at(key)); }
  /// A number in the range of float64.
  [[nodiscard]] double number(const char* key) {
    const Json& value = at(key);
    if (!value.is_number()) refuse(key, "a number", got(value));
    return value.get<double>();
  }
  /// Throws: `errc::unsupported` where the field "version" is another number.
  void require_version(std::int64_t expected) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (const std::int64_t version = integer("version", 0, most); version != expected)
      detail::fail(errc::unsupported, where_, path_, place("version"),
                   detail::expected_got(std::to_string(expected), std::to_string(version)));
  }
  /// Throws: `errc::malformed` when the object has a field that is none of these, with the one that
  /// may have been meant.
  void allow_only(const std::vector<std::string>& known) const {
    for (const auto& [key, value] : object_.items())
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const std::string name = detail::shown(key);
        refuse(std::string_view(name).substr(1, name.size() - 2),
               "one of the fields " + joined_names(known), "this one" + did_you_mean(key, known));
      }
  }
  /// Throws: `errc::malformed` when the object has a field that was not read.
  void finish() const {
    for (const auto& [key, value] : object_.items())
      if (!seen_.contains(key)) {
        std::string known;
        for (const std::string& name : seen_) known.append(known.empty() ? "" : ", ").append(name);
        refuse(detail::shown(key), "only the fields " + known, "this one");
      }
  }
  [[noreturn]] void refuse(std::string_view key, std::string_view expected,
                           std::string_view found) const {
    detail::fail(errc::malformed, where_, path_, place(key), detail::expected_got(expected, found));
  }
  /// Where in the document the value of a key is: "nodes[3].scheme.group_size".
  [[nodiscard]] std::string place(std::string_view key) const {
    std::string text = inside_;
    if (!text.empty() && !key.empty()) text += '.';
    return text.append(key);
  }

  /// The value, or its kind where it is large: for messages.
  [[nodiscard]] static std::string got(const Json& value) {
    if (value.is_object() || value.is_array())
      return std::string(value.is_object() ? "an object" : "an array");
    return detail::shown(value.is_string()
                             ? value.get_ref<const std::string&>()
                             : value.dump(-1, ' ', true, Json::error_handler_t::replace)) +
           (value.is_string() ? "" : std::string(" (") + value.type_name() + ")");
  }

 private:
  [[nodiscard]] std::string string(std::string_view key, const Json& value) const {
    if (!value.is_string()) refuse(key, "a string", got(value));
    return value.get<std::string>();
  }
  [[nodiscard]] std::string one_of(std::string_view key, const Json& value,
                                   const std::vector<std::string>& known) const {
    const std::string name = string(key, value);
    if (std::find(known.begin(), known.end(), name) == known.end())
      detail::fail(errc::unknown_name, where_, path_, place(key),
                   detail::expected_got("one of " + joined_names(known), detail::shown(name)) +
                       did_you_mean(name, known));
    return name;
  }
  [[nodiscard]] std::uint64_t count(std::string_view key, const Json& value) const {
    if (!value.is_number_unsigned() &&
        !(value.is_number_integer() && value.get<std::int64_t>() >= 0))
      refuse(key, "an integer in [0, 2^64)", got(value));
    return value.get<std::uint64_t>();
  }
  [[nodiscard]] float real(std::string_view key, const Json& value) const {
    constexpr double top = std::numeric_limits<float>::max();
    const double number = value.is_number() ? value.get<double>() : 0.0;
    if (!value.is_number() || !(number >= -top && number <= top))
      refuse(key, "a number in the range of float32", got(value));
    return static_cast<float>(number);
  }
  [[nodiscard]] std::int64_t integer(std::string_view key, const Json& value, std::int64_t min,
                                     std::int64_t max) const {
    const bool fits = value.is_number_unsigned()
                          ? value.get<std::uint64_t>() <=
                                static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                          : value.is_number_integer();
    const std::int64_t number = fits ? value.get<std::int64_t>() : 0;
    if (!fits || number < min || number > max)
      refuse(key, "an integer in [" + std::to_string(min) + ", " + std::to_string(max) + "]",
             got(value));
    return number;
  }

  const Json& object_;
  std::string_view where_, path_;
  std::string inside_;
  std::set<std::string, std::less<>> seen_;
};

namespace detail {

// The fields of a granularity beside its name, only those that are in use.
inline void granularity_fields_to_json(const QuantSpec& spec, Json& out) {
  if (spec.uses_axis()) out["axis"] = spec.axis_or_default();
  if (spec.uses_group_size()) out["group_size"] = spec.group_size;
  if (spec.uses_block()) {
    out["block_rows"] = spec.block_rows;
    out["block_cols"] = spec.block_cols;
  }
}

// The same back, for the granularity that `spec` names; the axis may be absent.
inline void granularity_fields_from_json(JsonFields& fields, QuantSpec& spec) {
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

// What spec and parameters have in common: the fields of the scheme.
[[nodiscard]] inline Json scheme_to_json(const QuantSpec& spec) {
  Json out{{"type", spec.type},
           {"granularity", spec.granularity},
           {"symmetry", spec.symmetry},
           {"scale_type", spec.scale_type}};
  granularity_fields_to_json(spec, out);
  return out;
}

[[nodiscard]] inline QuantSpec scheme_from_json(JsonFields& fields) {
  QuantSpec spec;
  spec.type = fields.string("type");
  spec.granularity = fields.string("granularity");
  spec.symmetry = fields.string("symmetry");
  if (fields.has("scale_type")) spec.scale_type = fields.string("scale_type");
  granularity_fields_from_json(fields, spec);
  return spec;
}

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
    return out;
  }
}

// Offsets as scales are: numbers, or codes.
template <OffsetType S>
[[nodiscard]] Json offsets_to_json(const Offsets<S>& offsets) {
  if constexpr (std::same_as<S, float>) return {{"offsets", offsets.values()}};
  else return {{"offset_codes", offsets.stored()}};
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
    return Offsets<S>(std::move(codes));
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
    return restore_scales<S>(stored);
  }
}

}  // namespace detail

/// {"type": "int4", "granularity": "per_group", "group_size": 32, "axis": -1, "symmetry":
/// "symmetric",
///  "scale_type": "float32", "numerics": "onnx"}, with the fields that the granularity uses, and
/// "calibrator" where it is not "min_max".
[[nodiscard]] inline Json spec_to_json(const QuantSpec& spec) {
  Json out = detail::scheme_to_json(spec);
  out["numerics"] = spec.numerics;
  if (spec.calibrator != QuantSpec{}.calibrator) out["calibrator"] = spec.calibrator;
  return out;
}

namespace detail {
// The spec of an object, field by field; names and sizes are not looked at.
[[nodiscard]] inline QuantSpec spec_from_fields(JsonFields& fields) {
  QuantSpec spec = scheme_from_json(fields);
  if (fields.has("numerics")) spec.numerics = fields.string("numerics");
  if (fields.has("calibrator")) spec.calibrator = fields.string("calibrator");
  fields.finish();
  return spec;
}
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
/// and "offsets"; of other types the codes are stored, "scale_codes", with "tensor_scale" or with
/// "block_scales" and "scale_offset", and "offset_codes". Scale type "none" has none of these.
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
  if (const QuantSpec wanted = spec_of<Params>(granularity); !(wanted == spec))
    other("granularity", to_string(wanted), to_string(spec));
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
