// SPDX-License-Identifier: MIT
#pragma once
// The tensors of a file with what every scheme takes and loses in each: for select and sensitivity.

#include "commands.hpp"
#include "stored_model.hpp"

#include <tq/json/precision_json.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/select/precision_model.hpp>
#include <tq/store/expected_errors.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

// A tensor that stays as it is, and why.
struct SkippedTensor {
  std::string name, reason;
};

// A file without what was measured: which tensors there are to choose for.
struct PrecisionPlan {
  std::vector<tq::NamedScheme> schemes;
  std::vector<tq::layouts::gguf::Type> blocks;  // of --types, too
  std::vector<const StoredTensor*> tensors;
  std::vector<SkippedTensor> skipped;
  std::uint64_t skipped_bytes = 0, weights = 0;

  // The fewest bytes that `tensors` can take.
  [[nodiscard]] std::uint64_t fewest_bytes() const;
};
// Throws: UsageError; tq::error where there is nothing to choose for.
[[nodiscard]] PrecisionPlan precision_plan(const StoredModel& model,
                                           const PrecisionOptions& options);

// Throws: UsageError, naming who needs schemes of tq, for a plan with types of GGUF files.
void require_schemes(const PrecisionPlan& plan, const std::string& who);

// The tensors of a plan, measured; `cannot` says which scheme cannot do which tensor.
struct MeasuredPrecision {
  tq::PrecisionModel model;
  std::vector<std::string> cannot;
  std::uint64_t nonfinite = 0;  // values, of all tensors
  // Tensors without a Hessian, where there are Hessians: their errors are those of weights.
  std::vector<std::string> by_weights;
};
using ExpectedErrors = tq::ExpectedErrors<StoredModel>;
// With `times`, how long each takes here in a product (tq::set_product_times).
enum class Times { none, measured };
// `outputs`, unless it is null, has the errors of outputs.
[[nodiscard]] MeasuredPrecision measured_precision(StoredModel& model, const PrecisionPlan& plan,
                                                   const PrecisionOptions& options, Times times,
                                                   ExpectedErrors* outputs = nullptr);

// Sets the times to those of a profile. Throws: errc::unsupported for one of another machine, or of
// other rows than options.rows; errc::no_data where it lacks one.
void set_times(tq::PrecisionModel& model, const PrecisionPlan& plan,
               const PrecisionOptions& options, const std::string& profile);
// The times measured here, as a profile.
[[nodiscard]] tq::io::TimeProfile profile_of(const tq::PrecisionModel& model,
                                             const PrecisionPlan& plan,
                                             const PrecisionOptions& options);

[[nodiscard]] double bits_per_weight(std::uint64_t bytes, std::uint64_t weights);
// The SQNR of a relative error: infinite where the error is 0.
[[nodiscard]] double sqnr_of(double error);

}  // namespace tool
