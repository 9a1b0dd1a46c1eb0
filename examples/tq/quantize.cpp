// SPDX-License-Identifier: MIT
// tq quantize: writes a model with its weights in fewer bits, and says what was lost.

#include "commands.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "schemes.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <tq/io/safetensors_writer.hpp>
#include <tq/ops/compare.hpp>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tool {

namespace {

using tq::errc;

// A tensor on its way to the output.
struct Job {
  const StoredTensor* source = nullptr;
  StoredTensor tensor;  // with the scheme it will have
  std::string copied;   // why it is not quantized, or empty
  tq::EncodedLayout layout;
  tq::ErrorMetrics metrics;

  [[nodiscard]] bool is_quantized() const { return copied.empty(); }
  [[nodiscard]] std::uint64_t bytes_after() const {
    return is_quantized() ? layout.bytes() : tensor.bytes;
  }
  [[nodiscard]] double bits_per_weight() const {
    const auto n = static_cast<double>(tensor.elements());
    return n == 0 ? 0.0 : 8.0 * static_cast<double>(bytes_after()) / n;
  }
};

std::vector<Job> plan(const StoredModel& model, const QuantizeOptions& options) {
  NameFilter filter(options.names);
  std::vector<Job> jobs;
  for (const StoredTensor& t : model.tensors()) {
    Job job;
    job.source = &t;
    job.tensor = t;
    const std::string left_out = filter.left_out(t.name);
    if (!is_quantizable(t.dtype)) job.copied = "not float";
    else if (!left_out.empty()) job.copied = left_out;
    else if (t.shape.size() < 2 && !options.all) job.copied = std::to_string(t.shape.size()) + "-D";
    if (job.is_quantized()) try {
        naming(t.name, [&] {
          job.tensor.spec = spec_for(options.spec, t.shape.size());
          job.layout = layout_of(*job.tensor.spec, to_shape(t.shape));
        });
      } catch (const tq::error& e) {
        throw tq::error(e.code(), std::string(e.what()) + "; --exclude it");
      }
    jobs.push_back(std::move(job));
  }
  filter.require_matches();
  return jobs;
}

std::vector<tq::io::TensorDecl> declarations(const std::vector<Job>& jobs) {
  std::vector<tq::io::TensorDecl> list;
  std::unordered_map<std::string, const Job*> index;
  const auto add = [&](const Job& job, tq::io::TensorDecl declaration) {
    const auto [found, is_new] = index.emplace(declaration.name, &job);
    if (!is_new)
      throw tq::error(errc::bad_argument,
                      "tensors " + tq::io::detail::shown(found->second->tensor.name) + " and " +
                          tq::io::detail::shown(job.tensor.name) + " would both be stored as " +
                          tq::io::detail::shown(declaration.name) +
                          "; --exclude the quantized one");
    list.push_back(std::move(declaration));
  };
  for (const Job& job : jobs) {
    const StoredTensor& t = job.tensor;
    if (!job.is_quantized()) {
      add(job, {t.name, t.dtype, t.shape});
      continue;
    }
    for (const StoredPart& part : stored_parts(t.name, t.shape, *t.spec, job.layout))
      add(job, {part.name, part.dtype, part.shape});
  }
  return list;
}

// Quantizes tensors into a file, piece by piece, in memory that is kept from tensor to tensor.
class Quantization {
 public:
  Quantization(StoredModel& model, tq::io::SafetensorsWriter& writer,
               const QuantizeOptions& options)
      : writer_(writer),
        allow_nonfinite_(options.allow_nonfinite),
        bytes_(model),
        floats_(model, options.allow_nonfinite) {}

  void copy(const Job& job) {
    for_each_piece(job.source->elements(), [&](std::size_t first, std::size_t count) {
      writer_.append(job.tensor.name, bytes_.bytes(*job.source, first, count));
    });
  }

  // Values are read twice: for the ranges, and for the codes and what was lost.
  void quantize(Job& job) {
    coder_.start(*job.tensor.spec, to_shape(job.tensor.shape));
    floats_.for_each(*job.source, [&](std::size_t first, std::span<const float> values) {
      coder_.observe(first, values);
    });
    fit_weights(coder_, allow_nonfinite_);
    std::string codes;
    for (const StoredPart& part : stored_parts(job.tensor.name, job.tensor.shape,
                                               *job.tensor.spec, coder_.layout()))
      if (part.kind == PartKind::codes) codes = part.name;
      else writer_.append(part.name, part_bytes(coder_.parameters(), part));
    tq::Comparison<> lost;
    floats_.for_each(*job.source, [&](std::size_t first, std::span<const float> values) {
      codes_.resize(coder_.code_bytes(values.size()));
      coder_.encode(first, values, codes_);
      writer_.append(codes, codes_);
      back_.resize(values.size());
      coder_.decode(first, codes_, back_);
      tq::io::round_to(back_, job.tensor.dtype);
      lost.add(values, back_);
    });
    job.metrics = lost.metrics();
  }

 private:
  tq::io::SafetensorsWriter& writer_;
  bool allow_nonfinite_;
  PieceReader bytes_;
  FloatReader floats_;
  PieceCoder coder_;
  std::vector<std::byte> codes_;
  std::vector<float> back_;
};

void report(const std::vector<Job>& jobs, const QuantizeOptions& options) {
  Table table({{"tensor"},
               {"shape"},
               {"scheme"},
               {"bits/weight", true},
               {"SQNR dB", true},
               {"max error", true}});
  tq::io::Json list = tq::io::Json::array();
  std::uint64_t before = 0, after = 0, weights = 0, weight_bytes = 0;
  std::size_t quantized = 0;
  for (const Job& job : jobs) {
    const StoredTensor& t = job.tensor;
    before += t.plain_bytes();
    after += job.bytes_after();
    const bool is_quantized = job.is_quantized();
    const std::string dtype(to_string(t.dtype));
    tq::io::Json entry{{"name", t.name},
                       {"shape", t.shape},
                       {"dtype", dtype},
                       {"quantized", is_quantized},
                       {"bits_per_weight", job.bits_per_weight()},
                       {"bytes_before", t.plain_bytes()},
                       {"bytes_after", job.bytes_after()}};
    if (is_quantized) {
      ++quantized;
      weights += t.elements();
      weight_bytes += job.bytes_after();
      entry["error"] = to_json(job.metrics);
    } else {
      entry["reason"] = job.copied;
    }
    table.add({printable(t.name), tq::io::shape_text(t.shape),
               is_quantized ? to_string(*t.spec) : dtype + ", copied (" + job.copied + ")",
               fixed(job.bits_per_weight(), 2), is_quantized ? fixed(job.metrics.sqnr_db, 2) : "-",
               is_quantized ? short_number(job.metrics.max_abs) : "-"});
    list.push_back(std::move(entry));
  }
  const double bits =
      weights == 0 ? 0.0 : 8.0 * static_cast<double>(weight_bytes) / static_cast<double>(weights);
  if (options.json) {
    print_json({{"input", options.in},
                {"output", options.out},
                {"spec", tq::io::spec_to_json(options.spec)},
                {"tensors", std::move(list)},
                {"total",
                 {{"tensors", jobs.size()},
                  {"quantized", quantized},
                  {"bytes_before", before},
                  {"bytes_after", after},
                  {"saved", saved_percent(before, after) / 100},
                  {"bits_per_weight", bits}}}});
    return;
  }
  table.print();
  std::cout << '\n' << quantized << " of " << jobs.size() << " tensors quantized";
  if (weights != 0) std::cout << " to " << fixed(bits, 2) << " bits per weight";
  std::cout << "; " << grouped(before) << " bytes before, " << grouped(after) << " after, "
            << fixed(saved_percent(before, after), 1) << " % saved\n";
}

}  // namespace

void quantize(const QuantizeOptions& options) {
  require_extension("OUT", options.out, {".safetensors"});
  StoredModel model(options.in);
  require_other_file("OUT", options.out, model.files(), "IN");
  require_unquantized(model, options.in);
  std::vector<Job> jobs = plan(model, options);
  tq::io::Metadata metadata = model.other_metadata();
  std::vector<StoredTensor> described;
  std::uint64_t work = 0;
  for (const Job& job : jobs) {
    described.push_back(job.tensor);
    work += job.tensor.bytes;
  }
  metadata[metadata_key] = metadata_text(described);
  // Opened before the work: a folder that cannot be written shows at once. Until the end it has
  // another name.
  tq::io::SafetensorsWriter writer(options.out, declarations(jobs), metadata);
  Quantization quantization(model, writer, options);
  {
    Progress progress("quantize", work);
    for (Job& job : jobs) {
      in_memory(job.tensor, [&] {
        if (!job.is_quantized()) quantization.copy(job);
        else naming(job.tensor.name, [&] { quantization.quantize(job); });
      });
      progress.advance(job.tensor.bytes);
    }
    writer.finish();
  }
  report(jobs, options);
}

}  // namespace tool
