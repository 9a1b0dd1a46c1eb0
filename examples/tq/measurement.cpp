// SPDX-License-Identifier: MIT
#include "measurement.hpp"

#include <tq/select/measured.hpp>
#include <tq/store/fit_weights.hpp>

#include <algorithm>
#include <span>

namespace tool {

namespace {

// A scheme that cannot do the tensor says so; values that are not finite are no scheme's fault.
template <class F>
bool can_do(SchemeResult& result, const StoredTensor& tensor, F&& f) {
  try {
    f();
  } catch (const tq::error& e) {
    if (e.code() == tq::errc::not_finite) throw;
    result.error = "tensor " + tq::io::shown(tensor.name) + ": " + e.what();
  }
  return result.is_measured();
}

}  // namespace

std::vector<tq::NamedScheme> schemes_of(const std::vector<std::string>& names) {
  static const std::vector<std::string> usual{
      "float16",    "bfloat16",  "float8_e4m3fn", "float8_e5m2", "mxfp8_e4m3", "mxfp6_e2m3",
      "mxfp6_e3m2", "mxint8",    "mxfp4",         "nvfp4",       "nf4",        "nf4_double",
      "bnb_fp4",    "iq4_nl",    "int8",          "int6",        "int4",       "int8_g32",
      "int4_g32",   "uint4_g32", "uint3_g32",     "uint2_g32",   "ternary",    "binary"};
  std::vector<tq::NamedScheme> list;
  for (const std::string& name : names.empty() ? usual : names) {
    try {
      list.push_back({name, scheme_of(name)});
    } catch (const tq::error& e) {
      throw UsageError(std::string("--types: ") + e.what());
    }
  }
  return list;
}

SchemeResult SchemeMeasurement::operator()(const StoredTensor& tensor, const tq::QuantSpec& asked,
                                           const tq::ExpectedError* outputs) {
  const tq::QuantSpec spec = spec_for(asked, tensor);
  SchemeResult result{static_cast<double>(tensor.elements())};
  if (!can_do(result, tensor, [&] { coder_.start(spec, to_shape(tensor.shape)); })) return result;
  floats_.for_each(tensor, [&](std::size_t first, std::span<const float> values) {
    coder_.observe(first, values);
  });
  if (!can_do(result, tensor, [&] { tq::store::fit_weights(coder_, allow_nonfinite_); }))
    return result;
  result.bytes = static_cast<double>(coder_.layout().bytes());
  floats_.for_each(tensor, [&](std::size_t first, std::span<const float> values) {
    codes_.resize(coder_.code_bytes(values.size()));
    back_.resize(values.size());
    coder_.encode(first, values, codes_);
    coder_.decode(first, codes_, back_);
    if (timed_runs_ > 0)
      result.seconds +=
          tq::median_seconds(timed_runs_, [&] { coder_.decode(first, codes_, back_); });
    tq::io::round_to(back_, tensor.dtype);
    finite_.take(values, back_);
    result.lost.add(finite_.values(), finite_.back());
    result.nonfinite.add(finite_.left_out());
    if (outputs != nullptr) result.output_loss += outputs->loss(first, values, back_);
  });
  return result;
}

double SchemeMeasurement::float_seconds(const StoredTensor& tensor) {
  double seconds = 0;
  floats_.for_each(tensor, [&](std::size_t, std::span<const float> values) {
    back_.resize(values.size());
    if (timed_runs_ > 0)
      seconds += tq::median_seconds(
          timed_runs_, [&] { std::copy(values.begin(), values.end(), back_.begin()); });
  });
  return seconds;
}

std::string why_left_out(const StoredTensor& tensor, NameFilter& filter,
                         const PrecisionOptions& options) {
  const std::string& by_name = filter.left_out(tensor.name);
  if (std::string reason = tq::store::no_weight(tensor, options.requantize); !reason.empty())
    return reason;
  if (!by_name.empty()) return by_name;
  if (tensor.elements() == 0) return "empty";
  if (options.all) return "";
  if (std::string reason = tq::store::too_few_axes(tensor); !reason.empty()) return reason;
  const bool is_asked_for = filter.asks_for(tensor.name) ||
                            std::ranges::find(options.kinds, tensor.kind) != options.kinds.end();
  return is_asked_for ? "" : tq::store::kept_kind(tensor);
}

}  // namespace tool
