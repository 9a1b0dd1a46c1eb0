// SPDX-License-Identifier: MIT
#pragma once
// The errors of schemes on the tensors of a file: for the tables to choose from.

#include "commands.hpp"
#include "output.hpp"
#include "schemes.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <tq/layouts/gguf/type.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ptq/expected_error.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/store/finite_part.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tool {

using tq::store::FinitePart;
using tq::store::NonFiniteCounts;

// The schemes of --types, or the usual ones, and the types of GGUF files among them.
struct MeasuredTypes {
  std::vector<tq::NamedScheme> schemes{};
  std::vector<tq::layouts::gguf::Type> blocks{};
};
// Throws: UsageError.
[[nodiscard]] MeasuredTypes types_of(const std::vector<std::string>& names);

// The error of a scheme or of a type of GGUF files on some weights, or the reason why it does not
// fit.
struct SchemeResult {
  double elements = 0, bytes = 0;
  tq::Comparison<> lost{};
  std::string error{};
  NonFiniteCounts nonfinite{};  // which were not compared
  double seconds = 0;           // to decode them, where that was measured
  double output_loss = 0;       // the expected one, where an ExpectedError was given

  [[nodiscard]] bool is_measured() const { return error.empty(); }
  void add(const SchemeResult& other) {
    if (error.empty()) error = other.error;
    nonfinite.add(other.nonfinite);
    elements += other.elements;
    bytes += other.bytes;
    lost.merge(other.lost);
    seconds += other.seconds;
  }
  [[nodiscard]] double bits() const { return elements == 0 ? 0 : 8 * bytes / elements; }
  [[nodiscard]] double sqnr_db() const { return lost.metrics().sqnr_db; }
};

// Measures piece by piece, in memory that is kept from one to the next.
class SchemeMeasurement {
 public:
  SchemeMeasurement(StoredModel& model, bool allow_nonfinite, std::size_t timed_runs = 0)
      : allow_nonfinite_(allow_nonfinite),
        timed_runs_(timed_runs),
        floats_(model, allow_nonfinite),
        finite_(allow_nonfinite) {}

  // `outputs`, unless it is null, counts the loss of outputs; values are finite then.
  [[nodiscard]] SchemeResult operator()(const StoredTensor& tensor, const tq::QuantSpec& asked,
                                        const tq::ExpectedError* outputs = nullptr);
  // The same of the blocks that `tq quantize` would write to a GGUF file, without importance.
  [[nodiscard]] SchemeResult operator()(const StoredTensor& tensor, tq::layouts::gguf::Type type);
  // The time to copy the values of a tensor.
  [[nodiscard]] double float_seconds(const StoredTensor& tensor);

 private:
  // Adds what was lost between values and `back_`.
  void add_lost(SchemeResult& result, std::span<const float> values);
  // Throws: errc::not_finite for NaN and infinities, of which there are no blocks.
  void require_finite(const StoredTensor& tensor);

  bool allow_nonfinite_;
  std::size_t timed_runs_;  // of each piece; 0: no times
  FloatReader floats_;
  PieceCoder coder_;
  std::vector<std::byte> codes_;
  std::vector<std::uint8_t> blocks_;
  std::vector<float> back_;
  FinitePart finite_;
};

// Why a tensor stays as it is, or empty.
[[nodiscard]] std::string why_left_out(const StoredTensor& tensor, NameFilter& filter,
                                       const PrecisionOptions& options);

}  // namespace tool
