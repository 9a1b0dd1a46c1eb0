// SPDX-License-Identifier: MIT
#include "measurement.hpp"

#include "gguf_types.hpp"

#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/layouts/gguf/quantize_best.hpp>
#include <tq/scheme/name_lists.hpp>
#include <tq/select/measured.hpp>
#include <tq/store/fit_weights.hpp>

#include <algorithm>
#include <span>

namespace tool {

namespace {

// A scheme that cannot do the tensor says so; values that are not finite are no scheme's fault,
// unless they are allowed.
template <class F>
bool can_do(SchemeResult& result, const StoredTensor& tensor, bool allow_nonfinite, F&& f) {
  try {
    f();
  } catch (const tq::error& e) {
    if (e.code() == tq::errc::not_finite && !allow_nonfinite) throw;
    result.error = "tensor " + tq::io::shown(tensor.name) + ": " + e.what();
  }
  return result.is_measured();
}

// The type of GGUF files of that name, or null; a name that tq has too, in any case, is that of tq.
const tq::layouts::gguf::TypeInfo* block_type(const std::string& name) {
  const std::vector<std::string> own = tq::type_and_scheme_names<examples::Types>();
  const tq::layouts::gguf::TypeInfo* const found = find_gguf_block(name);
  return found == nullptr || std::ranges::count(own, found->name) != 0 ? nullptr : found;
}

std::string block_names() {
  std::vector<std::string> names = gguf_block_names();
  std::erase_if(names, [](const std::string& name) { return block_type(name) == nullptr; });
  return tq::joined_names(names);
}

}  // namespace

MeasuredTypes types_of(const std::vector<std::string>& names) {
  static const std::vector<std::string> usual{
      "float16",    "bfloat16",  "float8_e4m3fn", "float8_e5m2", "mxfp8_e4m3", "mxfp6_e2m3",
      "mxfp6_e3m2", "mxint8",    "mxfp4",         "nvfp4",       "nf4",        "nf4_double",
      "bnb_fp4",    "iq4_nl",    "int8",          "int6",        "int4",       "int8_g32",
      "int4_g32",   "uint4_g32", "uint3_g32",     "uint2_g32",   "ternary",    "binary"};
  MeasuredTypes out;
  for (const std::string& name : names.empty() ? usual : names) {
    try {
      out.schemes.push_back({name, scheme_of(name)});
    } catch (const tq::error& e) {
      const tq::layouts::gguf::TypeInfo* const blocks = block_type(name);
      if (blocks == nullptr)
        throw UsageError(std::string("--types: ") + e.what() + "; types of GGUF files are " +
                         block_names());
      out.blocks.push_back(blocks->type);
    }
  }
  return out;
}

SchemeResult SchemeMeasurement::operator()(const StoredTensor& tensor, const tq::QuantSpec& asked,
                                           const tq::ExpectedError* outputs) {
  const tq::QuantSpec spec = spec_for(asked, tensor);
  SchemeResult result{static_cast<double>(tensor.elements())};
  if (!can_do(result, tensor, allow_nonfinite_,
              [&] { coder_.start(spec, to_shape(tensor.shape)); }))
    return result;
  floats_.for_each(tensor, [&](std::size_t first, std::span<const float> values) {
    coder_.observe(first, values);
  });
  if (!can_do(result, tensor, allow_nonfinite_,
              [&] { tq::store::fit_weights(coder_, allow_nonfinite_); }))
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
    add_lost(result, values);
    if (outputs != nullptr) result.output_loss += outputs->loss(first, values, back_);
  });
  return result;
}

SchemeResult SchemeMeasurement::operator()(const StoredTensor& tensor,
                                           tq::layouts::gguf::Type type) {
  namespace gguf = tq::layouts::gguf;
  const gguf::TypeInfo& info = gguf::info_of(type);
  SchemeResult result{static_cast<double>(tensor.elements())};
  can_do(result, tensor, allow_nonfinite_, [&] {
    const std::size_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (columns % info.elements != 0)
      throw tq::error(tq::errc::shape_mismatch, "expected rows in whole blocks of " +
                                                    std::to_string(info.elements) + ", got " +
                                                    std::to_string(columns) + " elements");
    require_finite(tensor);
    floats_.for_each(tensor, [&](std::size_t, std::span<const float> values) {
      blocks_.resize(values.size() / info.elements * info.bytes);
      back_.resize(values.size());
      gguf::quantize_best(type, values, blocks_);
      gguf::dequantize(type, blocks_, back_);
      result.bytes += static_cast<double>(blocks_.size());
      add_lost(result, values);
    });
  });
  return result;
}

void SchemeMeasurement::add_lost(SchemeResult& result, std::span<const float> values) {
  finite_.take(values, back_);
  result.lost.add(finite_.values(), finite_.back());
  result.nonfinite.add(finite_.left_out());
}

void SchemeMeasurement::require_finite(const StoredTensor& tensor) {
  NonFiniteCounts counts;
  floats_.for_each(tensor, [&](std::size_t, std::span<const float> values) {
    for (const float x : values) static_cast<void>(counts.is_finite(x));
  });
  if (counts.all() != 0)
    throw tq::error(tq::errc::not_finite, "expected finite values for blocks of a GGUF file, got " +
                                              std::to_string(counts.nan) + " NaN and " +
                                              std::to_string(counts.infinite) +
                                              " infinite; `exclude` it");
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
