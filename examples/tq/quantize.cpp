// SPDX-License-Identifier: MIT
// tq quantize: writes a model with its weights in fewer bits, and says what was lost.

#include "commands.hpp"
#include "finite_part.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "scheme_choice.hpp"
#include "schemes.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <tq/io/safetensors_writer.hpp>
#include <tq/ops/compare.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
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
  std::shared_ptr<const Encoding> encoding{};  // that it will have, or null
  std::string copied{};                        // why it is not quantized, or empty
  std::string decided_by{};                    // what of --config decided on it
  std::optional<std::uint64_t> pooled{};       // where its parts begin in the pool, if they are there
  tq::ErrorMetrics metrics{};                  // of the finite values
  NonFiniteCounts nonfinite{};

  [[nodiscard]] bool is_quantized() const { return encoding != nullptr; }
  [[nodiscard]] std::uint64_t bytes_after() const {
    return is_quantized() ? encoding->layout.bytes() : source->bytes;
  }
  [[nodiscard]] double bits_per_weight() const {
    const auto n = static_cast<double>(source->elements());
    return n == 0 ? 0.0 : 8.0 * static_cast<double>(bytes_after()) / n;
  }
};

// What the metadata says of them, pooled ones in the order of their places.
std::vector<Described> described(const std::vector<Job>& jobs) {
  std::vector<const Job*> quantized;
  for (const Job& job : jobs)
    if (job.is_quantized()) quantized.push_back(&job);
  const auto comes_before = [](const Job* a, const Job* b) {
    return a->pooled.value_or(0) < b->pooled.value_or(0);
  };
  if (!std::is_sorted(quantized.begin(), quantized.end(), comes_before))
    std::stable_sort(quantized.begin(), quantized.end(), comes_before);
  std::vector<Described> list;
  for (const Job* job : quantized)
    list.push_back({job->source, job->encoding.get(), job->pooled.has_value()});
  return list;
}

// Gives tensors whose parts have names longer than they are a place in a pool, where they are so many
// that other readers could not want them one by one. Casts stay what any reader understands.
void pool_small(std::vector<Job>& jobs) {
  constexpr std::size_t small = 64, many = 4096;
  std::vector<Job*> pooled;
  for (Job& job : jobs)
    if (job.is_quantized() && job.encoding->layout.stored.bits != 0 && job.bytes_after() < small)
      pooled.push_back(&job);
  if (pooled.size() < many) return;
  const auto comes_before = [](const Job* a, const Job* b) {
    return a->source->name < b->source->name;
  };
  if (!std::is_sorted(pooled.begin(), pooled.end(), comes_before))
    std::sort(pooled.begin(), pooled.end(), comes_before);
  std::uint64_t end = 0;
  for (Job* job : pooled) {
    job->pooled = end;
    end += job->bytes_after();
  }
}

// The bytes of the pool, and its name, which no tensor has; an empty name where there is none.
struct Pool {
  std::string name;
  std::vector<std::byte> bytes;

  Pool(const std::vector<Job>& jobs, const StoredModel& model) {
    std::uint64_t size = 0;
    for (const Job& job : jobs)
      if (job.pooled) size = std::max(size, *job.pooled + job.bytes_after());
    if (size == 0) return;
    bytes.resize(static_cast<std::size_t>(size));
    for (name = "tq.pool"; model.find(name) != nullptr;) name += '_';
  }
};

// What the options leave out is copied, or, where the output cannot have its name, omitted.
std::vector<Job> plan(const StoredModel& model, const QuantizeOptions& options,
                      std::vector<std::string>& omitted) {
  NameFilter filter(options.names);
  const SchemeChoice schemes(options, model);
  // By scheme and shape.
  std::map<std::pair<std::string, std::vector<std::size_t>>, std::shared_ptr<const Encoding>>
      encodings;
  std::vector<Job> jobs;
  jobs.reserve(model.tensors().size());
  for (const StoredTensor& t : model.tensors()) {
    const std::string& left_out = filter.left_out(t.name);
    if (!tq::io::is_tensor_name(t.name)) {
      if (left_out.empty())
        throw tq::error(errc::unsupported, "tensor " + tq::io::detail::shown(t.name) +
                                               ": expected a name that a safetensors file can "
                                               "have; --exclude leaves it out");
      omitted.push_back(t.name);
      continue;
    }
    Job job{&t};
    job.copied = no_weight(t, options.requantize);
    if (job.copied.empty()) job.copied = left_out;
    SchemeChoice::Choice chosen;
    if (job.copied.empty()) chosen = schemes.of(t);
    job.copied.append(chosen.left_alone);
    job.decided_by = std::move(chosen.decided_by);
    if (job.copied.empty()) try {
        naming(t.name, [&] {
          auto& encoding = encodings[{to_string(chosen.spec), t.shape}];
          if (encoding == nullptr) encoding = encoding_of(chosen.spec, t.shape);
          job.encoding = encoding;
        });
      } catch (const tq::error& e) {
        throw tq::error(e.code(), std::string(e.what()) + "; --exclude it");
      }
    jobs.push_back(std::move(job));
  }
  filter.require_matches();
  pool_small(jobs);
  return jobs;
}

std::vector<tq::io::TensorDecl> declarations(const StoredModel& model, const std::vector<Job>& jobs,
                                             const Pool& pool) {
  std::vector<tq::io::TensorDecl> list;
  std::unordered_map<std::string, const Job*> index;
  const auto add = [&](const Job& job, tq::io::TensorDecl declaration) {
    const auto [found, is_new] = index.emplace(declaration.name, &job);
    if (!is_new)
      throw tq::error(errc::bad_argument,
                      "tensors " + tq::io::detail::shown(found->second->source->name) + " and " +
                          tq::io::detail::shown(job.source->name) + " would both be stored as " +
                          tq::io::detail::shown(declaration.name) +
                          "; --exclude the quantized one");
    list.push_back(std::move(declaration));
  };
  if (!pool.name.empty()) list.push_back({pool.name, tq::io::DType::u8, {pool.bytes.size()}});
  for (const Job& job : jobs) {
    if (job.pooled) continue;
    if (!job.is_quantized()) {
      for (const tq::io::TensorInfo* part : model.parts(*job.source))
        add(job, {part->name, part->dtype, part->shape});
      continue;
    }
    for (const StoredPart& part : job.encoding->parts)
      add(job, {part.name(job.source->name), part.dtype, part.shape});
  }
  return list;
}

// Quantizes tensors into a file, piece by piece, in memory that is kept from tensor to tensor.
class Quantization {
 public:
  Quantization(StoredModel& model, tq::io::SafetensorsWriter& writer, Pool& pool,
               const QuantizeOptions& options)
      : model_(model),
        writer_(writer),
        pool_(pool),
        allow_nonfinite_(options.allow_nonfinite),
        floats_(model, options.allow_nonfinite),
        finite_(options.allow_nonfinite) {}

  void copy(const Job& job) {
    for (const tq::io::TensorInfo* part : model_.parts(*job.source)) {
      constexpr std::uint64_t piece = std::uint64_t{1} << 18;
      for (std::uint64_t at = 0; at < part->size_bytes; at += piece)
        writer_.append(part->name, model_.bytes(*part, at, static_cast<std::size_t>(std::min(
                                                               piece, part->size_bytes - at))));
    }
  }

  // Values are read twice: for the ranges, and for the codes and what was lost.
  void quantize(Job& job) {
    coder_.start(job.encoding->spec, to_shape(job.source->shape));
    floats_.for_each(*job.source, [&](std::size_t first, std::span<const float> values) {
      coder_.observe(first, values);
    });
    fit_weights(coder_, allow_nonfinite_);
    const std::vector<StoredPart>& parts = job.encoding->parts;
    for (const StoredPart& part : std::span(parts).subspan(1))
      put(job, part, part_bytes(coder_.parameters(), part));
    tq::Comparison<> lost;
    floats_.for_each(*job.source, [&](std::size_t first, std::span<const float> values) {
      codes_.resize(coder_.code_bytes(values.size()));
      coder_.encode(first, values, codes_);
      put(job, parts.front(), codes_);
      back_.resize(values.size());
      coder_.decode(first, codes_, back_);
      tq::io::round_to(back_, job.source->dtype);
      finite_.take(values, back_);
      lost.add(finite_.values(), finite_.back());
      job.nonfinite.add(finite_.left_out());
    });
    job.metrics = lost.metrics();
  }

 private:
  // Writes the next bytes of a part. A pooled tensor is one piece; its codes are the first part.
  void put(const Job& job, const StoredPart& part, std::span<const std::byte> bytes) {
    if (!job.pooled) return writer_.append(part.name(job.source->name), bytes);
    std::uint64_t& used = part.kind == PartKind::codes ? codes_at_ : others_at_;
    if (&job != pooled_) {
      pooled_ = &job;
      codes_at_ = *job.pooled;
      others_at_ = codes_at_ + job.encoding->layout.code_bytes;
    }
    std::copy(bytes.begin(), bytes.end(),
              pool_.bytes.begin() + static_cast<std::ptrdiff_t>(used));
    used += bytes.size();
  }

  StoredModel& model_;
  tq::io::SafetensorsWriter& writer_;
  Pool& pool_;
  const Job* pooled_ = nullptr;  // where its next codes and other parts go
  std::uint64_t codes_at_ = 0, others_at_ = 0;
  bool allow_nonfinite_;
  FloatReader floats_;
  PieceCoder coder_;
  std::vector<std::byte> codes_;
  std::vector<float> back_;
  FinitePart finite_;
};

tq::io::Json to_json(const Job& job) {
  const StoredTensor& t = *job.source;
  tq::io::Json entry{{"name", t.name},
                     {"shape", t.shape},
                     {"dtype", std::string(to_string(t.dtype))},
                     {"quantized", job.is_quantized()},
                     {"bits_per_weight", job.bits_per_weight()},
                     {"bytes_before", t.bytes},
                     {"bytes_after", job.bytes_after()}};
  if (!job.decided_by.empty()) entry["decided_by"] = job.decided_by;
  if (!job.is_quantized()) {
    entry["reason"] = job.copied;
    return entry;
  }
  entry["spec"] = tq::io::spec_to_json(job.encoding->spec);
  entry["error"] = tool::to_json(job.metrics);
  entry["nan"] = job.nonfinite.nan;
  entry["infinite"] = job.nonfinite.infinite;
  return entry;
}

// What the table does not say of itself.
void print_notes(const std::vector<Job>& jobs, const std::vector<std::string>& omitted,
                 const QuantizeOptions& options) {
  NonFiniteCounts nonfinite;
  for (const Job& job : jobs) nonfinite.add(job.nonfinite);
  if (nonfinite.all() != 0)
    std::cout << grouped(nonfinite.nan) << " NaN and " << grouped(nonfinite.infinite)
              << " infinite values: SQNR and errors are those of the finite ones.\n";
  if (options.config.empty() && options.spec.is_cast())
    std::cout << options.spec.type
              << " is a cast without scales; --granularity per_tensor, per_channel and so on have "
                 "scales.\n";
  for (const std::string& name : omitted)
    std::cout << "left out, since no tensor can have this name in a safetensors file: "
              << printable(name) << '\n';
}

void report(const std::vector<Job>& jobs, const std::vector<std::string>& omitted,
            const QuantizeOptions& options) {
  std::vector<Table::Column> columns{{"tensor"},
                                     {"shape"},
                                     {"scheme"},
                                     {"bits/weight", true},
                                     {"SQNR dB", true},
                                     {"max error", true}};
  if (options.allow_nonfinite) columns.push_back({"NaN/Inf", true});
  Table table(std::move(columns));
  tq::io::Json list = tq::io::Json::array();
  std::uint64_t before = 0, after = 0, weights = 0, weight_bytes = 0;
  std::size_t quantized = 0;
  for (const Job& job : jobs) {
    const StoredTensor& t = *job.source;
    before += t.bytes;
    after += job.bytes_after();
    const bool is_quantized = job.is_quantized();
    if (is_quantized) {
      ++quantized;
      weights += t.elements();
      weight_bytes += job.bytes_after();
    }
    if (options.json) {
      list.push_back(to_json(job));
      continue;
    }
    std::vector<std::string> row{
        printable(t.name), tq::io::shape_text(t.shape),
        is_quantized ? to_string(job.encoding->spec)
                     : std::string(to_string(t.dtype)) + ", copied (" + job.copied + ")",
        fixed(job.bits_per_weight(), 2), is_quantized ? fixed(job.metrics.sqnr_db, 2) : "-",
        is_quantized ? short_number(job.metrics.max_abs) : "-"};
    if (options.allow_nonfinite)
      row.push_back(job.nonfinite.all() == 0 ? "-" : to_string(job.nonfinite));
    table.add(row);
  }
  const double bits =
      weights == 0 ? 0.0 : 8.0 * static_cast<double>(weight_bytes) / static_cast<double>(weights);
  if (options.json) {
    print_json({{"input", options.in},
                {"output", options.out},
                {"config", options.config.empty() ? tq::io::Json() : tq::io::Json(options.config)},
                {"spec", options.config.empty() ? tq::io::spec_to_json(options.spec) : tq::io::Json()},
                {"cast_without_scales", options.config.empty() && options.spec.is_cast()},
                {"left_out", omitted},
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
  print_notes(jobs, omitted, options);
}

}  // namespace

void quantize(const QuantizeOptions& options) {
  require_extension("OUT", options.out, {".safetensors"});
  StoredModel model(options.in);
  require_other_file("OUT", options.out, model.files(), "IN");
  require_unquantized(model, options.in);
  std::vector<std::string> omitted;
  std::vector<Job> jobs = plan(model, options, omitted);
  tq::io::Metadata metadata = model.other_metadata();
  Pool pool(jobs, model);
  metadata[metadata_key] = metadata_text(described(jobs), pool.name);
  // Opened before the work: a folder that cannot be written shows at once. Until the end it has
  // another name.
  tq::io::SafetensorsWriter writer(options.out, declarations(model, jobs, pool), metadata);
  Quantization quantization(model, writer, pool, options);
  {
    std::uint64_t work = 0;
    for (const Job& job : jobs) work += job.source->bytes;
    Progress progress("quantize", work);
    for (Job& job : jobs) {
      in_memory(*job.source, [&] {
        if (!job.is_quantized()) quantization.copy(job);
        else naming(job.source->name, [&] { quantization.quantize(job); });
      });
      progress.advance(job.source->bytes);
    }
    if (!pool.name.empty()) writer.append(pool.name, pool.bytes);
    writer.finish();
  }
  report(jobs, omitted, options);
}

}  // namespace tool
