// SPDX-License-Identifier: MIT
#pragma once
// The facts of tq report about a model and its quantized copy, and the page that shows them.

#include <tq/core/symmetry.hpp>
#include <tq/ops/compare.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/store/nonfinite_counts.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool {

using tq::store::NonFiniteCounts;

// Bytes in the file.
struct PartBytes {
  std::uint64_t codes = 0, scales = 0, zero_points = 0;
  std::uint64_t padding_bits = 0;  // at the end of the codes, within their bytes

  void add(const PartBytes& other);
};

// The real numbers from the lowest to the highest code, which differ from one scale to the next.
struct ClippingRanges {
  std::size_t count = 0;
  tq::Range all;  // from the least to the greatest end of any
  tq::Range narrowest;
};

// Pixels of the pictures of values, and their columns: fewer where there are many pictures.
inline constexpr int picture_height = 24;
[[nodiscard]] constexpr std::size_t picture_columns(std::size_t pictures) {
  return pictures > 2000 ? 24 : 48;
}

// The finite values of a tensor before it was quantized.
struct ValuePicture {
  tq::Range range;
  double lo = 0, hi = 0;       // from one side of the picture to the other
  std::vector<double> counts;  // in columns of equal width
};

struct ReportTensor {
  std::string name;
  std::vector<std::size_t> shape;
  std::string dtype;                  // before
  std::optional<tq::QuantSpec> spec;  // of what was quantized
  std::string reason;                 // why it was copied, where the files tell; or empty
  std::uint64_t elements = 0, bytes_before = 0, bytes_after = 0;
  PartBytes parts;            // of what was quantized
  tq::Comparison<> lost;      // of the finite values of what was quantized
  NonFiniteCounts nonfinite;  // before it was quantized
  std::optional<ClippingRanges> covered;
  std::optional<ValuePicture> values;

  [[nodiscard]] bool is_quantized() const { return spec.has_value(); }
  // "int8 per_tensor symmetric", "F32, copied (1-D)".
  [[nodiscard]] std::string kind() const;
  [[nodiscard]] double bits_per_weight() const;
};

// Tensors of one kind, or all of them.
struct ReportSum {
  std::string kind;
  bool is_quantized = false;
  std::size_t tensors = 0;
  std::uint64_t elements = 0, bytes_before = 0, bytes_after = 0;
  PartBytes parts;
  tq::Comparison<> lost;

  void add(const ReportTensor& t);
  [[nodiscard]] double bits_per_weight() const;
};

struct ReportPage {
  std::string model, quantized;                   // names of files
  std::uint64_t file_before = 0, file_after = 0;  // bytes of all files
  std::vector<ReportTensor> tensors;
  std::vector<std::string> left_out;  // names that the output cannot have
  std::vector<ReportSum> kinds;       // in the order in which they come
  ReportSum all, weights;             // the second: of what was quantized
};

// Share of the squared error of all tensors, from 0 to 1; 0 where there is none.
[[nodiscard]] double error_share(const tq::Comparison<>& lost, const ReportPage& page);
[[nodiscard]] double error_share(const ReportTensor& t, const ReportPage& page);

[[nodiscard]] std::string to_html(const ReportPage& page);

}  // namespace tool
