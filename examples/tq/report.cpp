// SPDX-License-Identifier: MIT
// tq report: a model beside what tq quantize made of it, as a table, as JSON, and as a page to look
// at.
#include "axes.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "progress.hpp"
#include "report_page.hpp"
#include "scalar_quantizer.hpp"
#include "state_file.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <tq/containers/safetensors_header.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/finite_part.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using tq::errc;
using tq::io::Json;
using tq::io::shown;
using tq::store::FinitePart;

PartBytes part_bytes_of(const StoredTensor& t) {
  PartBytes bytes;
  for (const StoredPart& part : t.encoding->parts) {
    const std::uint64_t size = *tq::io::storage_bytes(part.dtype, part.shape);
    if (part.kind == PartKind::codes) bytes.codes += size;
    else if (part.kind == PartKind::zero_points) bytes.zero_points += size;
    else bytes.scales += size;
  }
  bytes.padding_bits =
      8 * bytes.codes - t.elements() * static_cast<std::uint64_t>(t.encoding->layout.bits);
  return bytes;
}

// Nothing where no scale is finite.
std::optional<ClippingRanges> clipping_ranges(const tq::EncodedTensor& parameters) {
  const ScalarQuantizer quantizer(parameters.spec);
  std::optional<ClippingRanges> out;
  for (std::size_t i = 0; i < parameters.scales.size(); ++i) {
    if (!std::isfinite(parameters.scales[i])) continue;
    const tq::Range range = quantizer.covered(levels_at(parameters, i));
    if (!out) out = ClippingRanges{0, range, range};
    ++out->count;
    out->all = {std::min(out->all.min, range.min), std::max(out->all.max, range.max)};
    const auto length = [](tq::Range r) { return double{r.max} - double{r.min}; };
    if (length(range) < length(out->narrowest)) out->narrowest = range;
  }
  return out;
}

// Compares the tensors of a model with what became of them, piece by piece, in memory that is kept
// from tensor to tensor.
class Pair {
 public:
  Pair(StoredModel& model, StoredModel& quantized)
      : model_(model),
        quantized_(quantized),
        columns_(picture_columns(model.tensors().size())),
        floats_(model, true),
        finite_(true) {}

  ReportTensor compared(const StoredTensor& before, const StoredTensor& after) {
    ReportTensor t;
    t.name = before.name;
    t.shape = before.shape;
    t.dtype = std::string(to_string(before.dtype));
    t.elements = before.elements();
    t.bytes_before = before.bytes;
    t.bytes_after = after.bytes;
    seen_ = {};
    if (after.encoding) measure(t, before, after);
    else require_copy(t, before, after);
    if (!seen_.empty()) t.values = picture(t);
    return t;
  }

 private:
  void measure(ReportTensor& t, const StoredTensor& before, const StoredTensor& after) {
    t.spec = after.encoding->spec;
    t.parts = part_bytes_of(after);
    t.covered = clipping_ranges(quantized_.parameters(after));
    floats_.for_each(before, [&](std::size_t first, std::span<const float> values) {
      const std::span<float> back = grown(back_, values.size());
      tq::io::to_float32(after.dtype, quantized_.piece(after, first, values.size()), back);
      finite_.take(values, back);
      t.lost.add(finite_.values(), finite_.back());
      t.nonfinite.add(finite_.left_out());
      seen_.add(values);
    });
  }

  // A copied tensor has the bytes that it had. Float64 may have values that no picture in
  // float32 shows.
  void require_copy(ReportTensor& t, const StoredTensor& before, const StoredTensor& after) {
    t.reason = tq::store::no_weight(before, false);
    if (t.reason.empty()) t.reason = tq::store::too_few_axes(before);
    if (t.reason.empty()) t.reason = tq::store::kept_kind(before);
    const bool is_shown =
        before.plain && is_quantizable(before.dtype) && before.dtype != tq::io::DType::f64;
    const auto old_parts = model_.parts(before), new_parts = quantized_.parts(after);
    bool same = old_parts.size() == new_parts.size();
    for (std::size_t i = 0; same && i < old_parts.size(); ++i) {
      same = old_parts[i]->size_bytes == new_parts[i]->size_bytes;
      constexpr std::uint64_t most = std::uint64_t{1} << 18;
      for (std::uint64_t at = 0; same && at < old_parts[i]->size_bytes; at += most) {
        const auto count = static_cast<std::size_t>(std::min(most, old_parts[i]->size_bytes - at));
        const auto was = model_.bytes(*old_parts[i], at, count);
        const auto is = quantized_.bytes(*new_parts[i], at, count);
        same = std::equal(was.begin(), was.end(), is.begin());
        if (!is_shown) continue;
        const std::span<float> values = grown(back_, 8 * count / tq::io::bits(before.dtype));
        tq::io::to_float32(before.dtype, was, values);
        seen_.add(values);
      }
    }
    if (!same)
      throw tq::error(errc::bad_argument,
                      "expected what is not quantized to be a copy of the "
                      "model's, got other bytes: do the files belong together?");
  }

  [[nodiscard]] ValuePicture picture(const ReportTensor& t) const {
    std::vector<tq::Range> covered;
    if (t.covered) covered.push_back(t.covered->all);
    const Horizontal x(seen_.range(), covered, 0.25);
    Beyond beyond;
    return {seen_.range(), x.lo(), x.hi(), column_counts(seen_, x, columns_, beyond)};
  }

  StoredModel &model_, &quantized_;
  std::size_t columns_;  // of a picture
  FloatReader floats_;
  FinitePart finite_;
  tq::Buffer<float> back_;
  tq::Histogram seen_;
};

// Whether two tensors of one name may be one before and after. Throws: where they may not.
void require_same(const StoredTensor& before, const StoredTensor& after) {
  if (before.shape != after.shape)
    throw tq::error(errc::shape_mismatch, "expected shape " + tq::io::shape_text(before.shape) +
                                              " as in the model, got " +
                                              tq::io::shape_text(after.shape));
  if (before.dtype != after.dtype)
    throw tq::error(errc::bad_argument, "expected " + std::string(to_string(before.dtype)) +
                                            " as in the model, got " +
                                            std::string(to_string(after.dtype)));
}

// The tensors of both, in the order of the model. Throws: where one is in one file only.
std::vector<std::pair<const StoredTensor*, const StoredTensor*>> pairs_of(
    const StoredModel& model, const StoredModel& quantized, const ReportOptions& options,
    std::vector<std::string>& left_out) {
  const auto missing = [](const std::string& file, const std::string& name,
                          const std::string& other) {
    throw tq::error(errc::unknown_name, file + ": expected tensor " + shown(name) + ", which " +
                                            other + " has, got none of this name");
  };
  for (const StoredTensor& t : quantized.tensors())
    if (model.find(t.name) == nullptr) missing(options.model, t.name, options.quantized);
  std::vector<std::pair<const StoredTensor*, const StoredTensor*>> pairs;
  for (const StoredTensor& t : model.tensors()) {
    const StoredTensor* const after = quantized.find(t.name);
    if (after != nullptr) pairs.emplace_back(&t, after);
    else if (!tq::io::is_tensor_name(t.name)) left_out.push_back(t.name);
    else missing(options.quantized, t.name, options.model);
  }
  for (const auto& [before, after] : pairs)
    naming(before->name, [&, &before = before, &after = after] { require_same(*before, *after); });
  return pairs;
}

std::uint64_t file_bytes(const StoredModel& model) {
  std::uint64_t sum = 0;
  for (const std::filesystem::path& file : model.files()) sum += std::filesystem::file_size(file);
  return sum;
}

void add_to_sums(ReportPage& page, const ReportTensor& t) {
  page.all.add(t);
  if (t.is_quantized()) page.weights.add(t);
  const std::string kind = t.kind();
  const auto found = std::ranges::find(page.kinds, kind, &ReportSum::kind);
  ReportSum& sum = found != page.kinds.end() ? *found : page.kinds.emplace_back();
  sum.kind = kind;
  sum.is_quantized = t.is_quantized();
  sum.add(t);
}

Json to_json(const PartBytes& bytes) {
  return {{"codes", bytes.codes},
          {"scales", bytes.scales},
          {"zero_points", bytes.zero_points},
          {"padding_bits", bytes.padding_bits}};
}

Json to_json(const tq::Range& range) { return {{"min", range.min}, {"max", range.max}}; }

Json to_json(const ReportTensor& t, const ReportPage& page) {
  Json entry{{"name", t.name},
             {"shape", t.shape},
             {"dtype", t.dtype},
             {"quantized", t.is_quantized()},
             {"spec", t.spec ? tq::io::spec_to_json(*t.spec) : Json()},
             {"elements", t.elements},
             {"bits_per_weight", t.bits_per_weight()},
             {"bytes_before", t.bytes_before},
             {"bytes_after", t.bytes_after},
             {"values", t.values ? to_json(t.values->range) : Json()}};
  if (!t.is_quantized()) {
    entry["reason"] = t.reason.empty() ? Json() : Json(t.reason);
    return entry;
  }
  entry["parts"] = to_json(t.parts);
  entry["error"] = tool::to_json(t.lost.metrics());
  entry["error_share"] = error_share(t, page);
  entry["nan"] = t.nonfinite.nan;
  entry["infinite"] = t.nonfinite.infinite;
  entry["scales"] = t.covered ? t.covered->count : 0;
  entry["covered"] = t.covered ? to_json(t.covered->all) : Json();
  entry["covered_narrowest"] = t.covered ? to_json(t.covered->narrowest) : Json();
  return entry;
}

Json to_json(const ReportSum& sum) {
  Json entry{{"kind", sum.kind},
             {"quantized", sum.is_quantized},
             {"tensors", sum.tensors},
             {"elements", sum.elements},
             {"bits_per_weight", sum.bits_per_weight()},
             {"bytes_before", sum.bytes_before},
             {"bytes_after", sum.bytes_after},
             {"saved", saved_percent(sum.bytes_before, sum.bytes_after) / 100}};
  if (sum.is_quantized) put_number(entry, "sqnr_db", sum.lost.metrics().sqnr_db);
  return entry;
}

Json total_json(const ReportPage& page) {
  Json total{{"tensors", page.all.tensors},
             {"quantized", page.weights.tensors},
             {"elements", page.all.elements},
             {"bytes_before", page.all.bytes_before},
             {"bytes_after", page.all.bytes_after},
             {"saved", saved_percent(page.all.bytes_before, page.all.bytes_after) / 100},
             {"bits_per_weight", page.weights.bits_per_weight()},
             {"parts", to_json(page.weights.parts)},
             {"file_bytes_before", page.file_before},
             {"file_bytes_after", page.file_after},
             {"sqnr_db", nullptr}};
  if (page.weights.tensors != 0) put_number(total, "sqnr_db", page.weights.lost.metrics().sqnr_db);
  return total;
}

void print_as_json(const ReportPage& page, const ReportOptions& options) {
  Json tensors = Json::array(), kinds = Json::array();
  for (const ReportTensor& t : page.tensors) tensors.push_back(to_json(t, page));
  for (const ReportSum& sum : page.kinds) kinds.push_back(to_json(sum));
  print_json({{"model", options.model},
              {"quantized", options.quantized},
              {"output", options.out},
              {"left_out", page.left_out},
              {"tensors", std::move(tensors)},
              {"kinds", std::move(kinds)},
              {"total", total_json(page)}});
}

// The quantized tensors of the largest error, the worst first.
std::vector<const ReportTensor*> worst_of(const ReportPage& page, std::size_t most) {
  std::vector<std::pair<double, const ReportTensor*>> order;
  for (const ReportTensor& t : page.tensors) {
    const double db = t.lost.metrics().sqnr_db;
    if (t.is_quantized())
      order.emplace_back(std::isnan(db) ? -std::numeric_limits<double>::infinity() : db, &t);
  }
  std::ranges::stable_sort(order, {}, &std::pair<double, const ReportTensor*>::first);
  std::vector<const ReportTensor*> out;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) out.push_back(order[i].second);
  return out;
}

void print_as_text(const ReportPage& page, const ReportOptions& options) {
  Table table({{"stored as"},
               {"tensors", true},
               {"elements", true},
               {"bytes before", true},
               {"bytes after", true},
               {"bits/weight", true},
               {"SQNR dB", true}});
  for (const ReportSum& sum : page.kinds)
    table.add({sum.kind, grouped(sum.tensors), grouped(sum.elements), grouped(sum.bytes_before),
               grouped(sum.bytes_after), fixed(sum.bits_per_weight(), 2),
               sum.is_quantized ? fixed(sum.lost.metrics().sqnr_db, 2) : "-"});
  table.print();
  const ReportSum &all = page.all, &weights = page.weights;
  std::cout << '\n' << weights.tensors << " of " << all.tensors << " tensors quantized";
  if (weights.elements != 0)
    std::cout << " to " << fixed(weights.bits_per_weight(), 2) << " bits per weight";
  std::cout << "; " << grouped(all.bytes_before) << " bytes before, " << grouped(all.bytes_after)
            << " after, " << fixed(saved_percent(all.bytes_before, all.bytes_after), 1)
            << " % saved\n";
  if (weights.tensors != 0)
    std::cout << "Quantized: " << grouped(weights.parts.codes) << " bytes of codes, "
              << grouped(weights.parts.scales) << " of scales, "
              << grouped(weights.parts.zero_points) << " of zero points; "
              << grouped(weights.parts.padding_bits) << " bits of padding\n";
  for (const ReportTensor* t : worst_of(page, 5))
    std::cout << "low SQNR: " << fixed(t->lost.metrics().sqnr_db, 2) << " dB, "
              << short_number(100 * error_share(*t, page)) << " % of the error, "
              << printable(t->name) << '\n';
  for (const std::string& name : page.left_out)
    std::cout << "left out, since no tensor can have this name in a safetensors file: "
              << printable(name) << '\n';
  std::cout << "Every tensor: " << options.out << '\n';
}

}  // namespace

void report(const ReportOptions& options) {
  show_progress(!options.json && !options.talk.quiet, options.talk.progress);
  require_extension("-o", options.out, {".html"});
  remove_leftovers(options.out);
  StoredModel model(options.model), quantized(options.quantized);
  require_other_file("-o", options.out, model.files(), "MODEL");
  require_other_file("-o", options.out, quantized.files(), "QUANTIZED");
  require_unquantized(model.contents(), options.model);
  if (!quantized.has_description())
    throw tq::error(errc::bad_argument, options.quantized +
                                            ": expected a file that tq quantize wrote, got one "
                                            "without its metadata");
  TextFiles output;
  output.open(options.out, options.overwrite);
  ReportPage page;
  page.model = options.model;
  page.quantized = options.quantized;
  page.file_before = file_bytes(model);
  page.file_after = file_bytes(quantized);
  const auto pairs = pairs_of(model, quantized, options, page.left_out);
  {
    std::uint64_t work = 0;
    for (const auto& pair : pairs) work += pair.first->bytes;
    Progress progress("report", work);
    Pair pair(model, quantized);
    for (const auto& [before, after] : pairs) {
      page.tensors.push_back(in_memory(*before, [&, &before = before, &after = after] {
        return naming(before->name, [&] { return pair.compared(*before, *after); });
      }));
      add_to_sums(page, page.tensors.back());
      progress.advance(before->bytes);
    }
  }
  output.write(0, to_html(page));
  output.commit();
  if (options.json) print_as_json(page, options);
  else if (!options.talk.quiet) print_as_text(page, options);
}

}  // namespace tool
