// SPDX-License-Identifier: MIT
// tq quantize: writes a model with its weights in fewer bits, and says what was lost.

#include "commands.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "schemes.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <tq/io/safetensors_writer.hpp>

#include <cstddef>
#include <iostream>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tool {

namespace {

using tq::errc;
using tq::io::Tensor;

// A tensor on its way to the output. Its codes are made twice, once for the report and once for the
// file, so that one tensor at a time is in memory; its scales and zero points are kept.
struct Job {
  StoredTensor tensor;
  std::string copied;  // why it is not quantized, or empty
  tq::EncodedLayout layout;
  tq::EncodedTensor encoded;  // without the codes
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
    job.tensor = t;
    const std::string left_out = filter.left_out(t.name);
    job.copied = no_weight(t, options.requantize);
    if (job.copied.empty()) job.copied = left_out;
    if (job.copied.empty() && t.shape.size() < 2 && !options.all)
      job.copied = std::to_string(t.shape.size()) + "-D";
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

// What the writer will ask for: a tensor as it was, or a part of a quantized one.
struct Output {
  std::size_t job;
  std::optional<StoredPart> part;
};

class Outputs {
 public:
  Outputs(const StoredModel& model, const std::vector<Job>& jobs) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const StoredTensor& t = jobs[i].tensor;
      if (!jobs[i].is_quantized() && t.foreign) {
        for (const tq::io::TensorInfo& part : model.parts(t))
          add({part.name, part.dtype, part.shape}, {i, std::nullopt}, jobs);
        continue;
      }
      if (!jobs[i].is_quantized()) {
        add({t.name, t.dtype, t.shape}, {i, std::nullopt}, jobs);
        continue;
      }
      for (const StoredPart& part : stored_parts(t.name, t.shape, *t.spec, jobs[i].layout))
        add({part.name, part.dtype, part.shape}, {i, part}, jobs);
    }
  }
  [[nodiscard]] const std::vector<tq::io::TensorDecl>& declarations() const { return list_; }
  [[nodiscard]] const Output& at(const std::string& name) const { return index_.at(name); }

 private:
  void add(tq::io::TensorDecl declaration, const Output& output, const std::vector<Job>& jobs) {
    const auto [found, is_new] = index_.emplace(declaration.name, output);
    if (!is_new) {
      const std::size_t other = found->second.job;
      throw tq::error(errc::bad_argument,
                      "tensors " + tq::io::detail::shown(jobs[other].tensor.name) + " and " +
                          tq::io::detail::shown(jobs[output.job].tensor.name) +
                          " would both be stored as " + tq::io::detail::shown(declaration.name) +
                          "; --exclude the quantized one");
    }
    list_.push_back(std::move(declaration));
  }
  std::vector<tq::io::TensorDecl> list_;
  std::unordered_map<std::string, Output> index_;
};

tq::EncodedTensor encode_values(const std::vector<float>& values, const Job& job,
                                const QuantizeOptions& options) {
  return encoded_weights(values, to_shape(job.tensor.shape), *job.tensor.spec,
                         options.allow_nonfinite);
}

Tensor produce(StoredModel& model, const Job& job, const std::optional<StoredPart>& part,
               const tq::io::TensorInfo& info, const QuantizeOptions& options) {
  // Jobs carry the scheme they will have; the model is read as it is.
  const StoredTensor& source = *model.find(job.tensor.name);
  if (!part) return model.read_part(info.name);
  Tensor out{info.name, info.dtype, info.shape, {}};
  if (part->kind == PartKind::codes)
    out.bytes =
        encode_values(float_values(model.read(source), options.allow_nonfinite), job, options)
            .codes;
  else out.bytes = part_bytes(job.encoded, *part);
  return out;
}

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
    before += t.bytes;
    after += job.bytes_after();
    const bool is_quantized = job.is_quantized();
    const std::string dtype(to_string(t.dtype));
    tq::io::Json entry{{"name", t.name},
                       {"shape", t.shape},
                       {"dtype", dtype},
                       {"quantized", is_quantized},
                       {"bits_per_weight", job.bits_per_weight()},
                       {"bytes_before", t.bytes},
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
  const Outputs outputs(model, jobs);
  tq::io::Metadata metadata = model.other_metadata();
  std::vector<StoredTensor> described;
  std::uint64_t work = 0;
  for (const Job& job : jobs) {
    described.push_back(job.tensor);
    work += job.tensor.bytes * (job.is_quantized() ? 2 : 1);
  }
  metadata[metadata_key] = metadata_text(described);
  // Opened before the work: a folder that cannot be written shows at once. Until the end it has
  // another name.
  tq::io::SafetensorsWriter writer(options.out, outputs.declarations(), metadata);
  {
    Progress progress("quantize", work);
    for (Job& job : jobs) {
      if (!job.is_quantized()) continue;
      in_memory(job.tensor, [&] {
        naming(job.tensor.name, [&] {
          const std::vector<float> values =
              float_values(model.read(*model.find(job.tensor.name)), options.allow_nonfinite);
          job.encoded = encode_values(values, job, options);
          job.metrics = tq::compare(values, decoded(job.encoded));
          std::vector<std::byte>().swap(job.encoded.codes);  // of a file larger than memory
        });
      });
      progress.advance(job.tensor.bytes);
    }
    writer.write_all([&](const tq::io::TensorInfo& info) {
      const auto& [index, part] = outputs.at(info.name);
      const Job& job = jobs[index];
      Tensor tensor = in_memory(
          job.tensor, [&, &part = part] { return produce(model, job, part, info, options); });
      if (!part) progress.advance(info.size_bytes);
      else if (part->kind == PartKind::codes) progress.advance(job.tensor.bytes);
      return tensor;
    });
  }
  report(jobs, options);
}

}  // namespace tool
