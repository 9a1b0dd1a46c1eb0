// SPDX-License-Identifier: MIT
#include "precision.hpp"

#include "measurement.hpp"
#include "progress.hpp"

#include <tq/files/text_file.hpp>
#include <tq/json/json_text.hpp>
#include <tq/ops/isa_info.hpp>
#include <tq/select/measured.hpp>
#include <tq/select/product_times.hpp>
#include <tq/store/missing_file.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tool {

namespace {

constexpr std::size_t timed_runs = 9;

// The name of the processor, or the instruction set where the system does not tell.
std::string machine_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name"))
      if (const std::size_t at = line.find(": "); at != std::string::npos)
        return line.substr(at + 2);
  return std::string(tq::isa_info().running);
}

tq::io::TimeProfile read_profile(const std::string& path) {
  tq::store::require_there(path);
  return tq::io::time_profile_from_json(tq::io::parse_json(tq::io::read_text(path), path), path);
}

std::size_t rows_of(const PrecisionOptions& options) {
  return options.rows.value_or(tq::ProductTimes::default_rows);
}

// Adds a scheme that was measured, with an error relative to the weights or the outputs.
void add_candidate(tq::PrecisionNode& node, const std::string& scheme, const SchemeResult& result,
                   double error, MeasuredPrecision& out) {
  if (result.is_measured() && std::isfinite(error))
    return node.candidates.push_back({scheme, static_cast<std::uint64_t>(result.bytes), error,
                                      result.seconds, tq::Evidence::measured,
                                      tq::timed_decoding(result.seconds)});
  out.cannot.push_back(
      scheme + ": " +
      (result.is_measured() ? "tensor " + node.name + ": the error is not finite" : result.error));
}

double error_of(const SchemeResult& result) {
  return result.is_measured() ? tq::relative_error(result.lost.metrics()) : 0;
}

// A tensor in all schemes and types that can do it.
tq::PrecisionNode measured_tensor(SchemeMeasurement& measure, const StoredTensor& tensor,
                                  const PrecisionPlan& plan,
                                  const std::optional<tq::ExpectedError>& of_outputs,
                                  MeasuredPrecision& out) {
  tq::PrecisionNode node{tensor.name, tensor.elements(), {}};
  node.candidates.push_back(tq::float_candidate(tensor.bytes, measure.float_seconds(tensor)));
  std::uint64_t nonfinite = 0;
  const auto take = [&](const std::string& name, const SchemeResult& result, double error) {
    if (result.is_measured()) nonfinite = result.nonfinite.all();
    add_candidate(node, name, result, error, out);
  };
  for (const tq::NamedScheme& scheme : plan.schemes) {
    const SchemeResult result = measure(tensor, scheme.spec, of_outputs ? &*of_outputs : nullptr);
    take(scheme.name, result,
         of_outputs && result.is_measured() ? of_outputs->relative(result.output_loss)
                                            : error_of(result));
  }
  for (const tq::layouts::gguf::Type type : plan.blocks) {
    const SchemeResult result = measure(tensor, type);
    take(std::string(tq::layouts::gguf::info_of(type).name), result, error_of(result));
  }
  out.nonfinite += nonfinite;
  return node;
}

}  // namespace

std::uint64_t PrecisionPlan::fewest_bytes() const {
  std::uint64_t sum = 0;
  for (const StoredTensor* t : tensors) {
    std::uint64_t fewest = t->bytes;
    for (const tq::NamedScheme& scheme : schemes) try {
        const tq::QuantSpec spec = spec_for(scheme.spec, *t);
        fewest = std::min<std::uint64_t>(fewest, layout_of(spec, to_shape(t->shape)).bytes());
      } catch (const tq::error&) {  // it cannot do the tensor, which is said where it is measured
      }
    sum += fewest;
  }
  return sum;
}

PrecisionPlan precision_plan(const StoredModel& model, const PrecisionOptions& options) {
  auto [schemes, blocks] = types_of(options.types);
  PrecisionPlan plan{std::move(schemes), std::move(blocks), {}, {}};
  std::set<std::string_view> names;
  const auto require_new = [&](std::string_view name) {
    if (!names.insert(name).second)
      throw UsageError("--types: expected each scheme once, got \"" + std::string(name) +
                       "\" twice");
  };
  for (const tq::NamedScheme& scheme : plan.schemes) require_new(scheme.name);
  for (const tq::layouts::gguf::Type type : plan.blocks)
    require_new(tq::layouts::gguf::info_of(type).name);
  NameFilter filter(options.names);
  require_unquantized(model.contents(), options.file);
  for (const StoredTensor& t : model.tensors()) {
    std::string reason = why_left_out(t, filter, options);
    if (reason.empty()) {
      plan.tensors.push_back(&t);
      plan.weights += t.elements();
    } else {
      plan.skipped.push_back({t.name, std::move(reason)});
      plan.skipped_bytes += t.bytes;
    }
  }
  filter.require_matches();
  if (plan.tensors.empty())
    throw tq::error(tq::errc::no_data,
                    options.file +
                        ": expected float tensors with elements, of two dimensions or more, "
                        "got none (--all also takes smaller ones, and kinds that stay in float)");
  return plan;
}

void require_schemes(const PrecisionPlan& plan, const std::string& who) {
  if (!plan.blocks.empty())
    throw UsageError("--types: expected schemes of tq for " + who + ", got the type \"" +
                     std::string(tq::layouts::gguf::info_of(plan.blocks.front()).name) +
                     "\" of GGUF files");
}

MeasuredPrecision measured_precision(StoredModel& model, const PrecisionPlan& plan,
                                     const PrecisionOptions& options, Times times,
                                     ExpectedErrors* outputs) {
  MeasuredPrecision out;
  std::uint64_t work = 0;
  for (const StoredTensor* t : plan.tensors) work += t->bytes;
  Progress progress("measure", work);
  SchemeMeasurement measure(model, options.allow_nonfinite,
                            times == Times::measured ? timed_runs : 0);
  tq::ProductTimes products(rows_of(options));
  for (const StoredTensor* t : plan.tensors)
    in_memory(*t, [&] {
      std::optional<tq::ExpectedError> of_outputs;  // its errors name the tensor
      if (outputs != nullptr) of_outputs = outputs->of(*t);
      if (outputs != nullptr && !of_outputs) out.by_weights.push_back(t->name);
      naming(t->name, [&] {
        out.model.nodes.push_back(measured_tensor(measure, *t, plan, of_outputs, out));
        if (times == Times::measured)
          tq::set_product_times(out.model.nodes.back(), to_shape(t->shape), t->kind, plan.schemes,
                                products);
        progress.advance(t->bytes);
      });
    });
  return out;
}

void set_times(tq::PrecisionModel& model, const PrecisionPlan& plan,
               const PrecisionOptions& options, const std::string& path) {
  const tq::io::TimeProfile profile = read_profile(path);
  if (const std::string here = machine_name(); profile.machine != here)
    throw tq::error(tq::errc::unsupported, path + ": expected times of this machine, " +
                                               tq::io::shown(here) + ", got those of " +
                                               tq::io::shown(profile.machine));
  if (options.rows && *options.rows != profile.rows)
    throw tq::error(tq::errc::unsupported, path + ": expected times of --rows " +
                                               std::to_string(*options.rows) + ", got those of " +
                                               std::to_string(profile.rows));
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    for (tq::PrecisionCandidate& c : model.nodes[i].candidates) {
      const StoredTensor& tensor = *plan.tensors[i];
      const tq::io::TimeProfile::Time* time =
          profile.find({tensor.shape, c.scheme, tq::is_table(tensor.kind)});
      if (time == nullptr)
        throw tq::error(tq::errc::no_data, path + ": expected a time of shape " +
                                               tq::io::shape_text(tensor.shape) + " as " +
                                               c.scheme + ", got none");
      c.seconds = time->seconds;
      c.timed = time->work;
    }
}

tq::io::TimeProfile profile_of(const tq::PrecisionModel& model, const PrecisionPlan& plan,
                               const PrecisionOptions& options) {
  tq::io::TimeProfile out{machine_name(), 1, rows_of(options), {}};
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    for (const tq::PrecisionCandidate& c : model.nodes[i].candidates)
      if (c.seconds > 0)
        out.times.try_emplace({plan.tensors[i]->shape, c.scheme, c.timed == tq::TimedWork::lookup},
                              tq::io::TimeProfile::Time{c.seconds, c.timed});
  return out;
}

double bits_per_weight(std::uint64_t bytes, std::uint64_t weights) {
  return weights == 0 ? 0 : 8 * static_cast<double>(bytes) / static_cast<double>(weights);
}

double sqnr_of(double error) { return -10 * std::log10(error); }

}  // namespace tool
