// SPDX-License-Identifier: MIT
#pragma once
// What becomes of every tensor of a model, and in which file of the output.

#include <tq/containers/safetensors_writer.hpp>
#include <tq/error.hpp>
#include <tq/json/json.hpp>
#include <tq/ops/compare.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/store/conversion_report.hpp>
#include <tq/store/detail/bands.hpp>
#include <tq/store/detail/scheme_choice.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/finite_part.hpp>
#include <tq/store/in_memory.hpp>
#include <tq/store/name_filter.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/pool.hpp>
#include <tq/store/stored_model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tq::store::detail {

// A tensor on its way to the output.
struct QuantizeJob : ConvertedTensor {
  std::optional<Bands> bands{};           // if it will have an encoding
  std::optional<std::uint64_t> pooled{};  // where its parts begin in the pool, if they are there

  // The tensors of the output that it becomes, without what is in the pool.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const StoredModel& model) const;
  // Of memory, beside what threads keep: what it takes to work on the tensor, at most.
  [[nodiscard]] std::uint64_t working_bytes() const;
};

// A file of the output.
struct OutputShard {
  std::string name;               // that of the input; empty where all is one file
  std::vector<QuantizeJob> jobs;  // in the order of the input
  io::Metadata other_metadata{};  // all text pairs but that of tq
  std::string pool{};             // the tensor that small ones share, or empty
  std::uint64_t pool_bytes = 0;
  bool is_described = true;  // by the text pair of tq
  // Tensors of types that are not read, which are copied; of the file of the model.
  std::vector<const io::OtherMember*> raw{};

  // The tensors it is made of. The model is the one that was planned for.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const StoredModel& model) const;
  [[nodiscard]] io::Metadata metadata() const;
  [[nodiscard]] std::uint64_t bytes_before() const;
};

struct QuantizePlan {
  io::Json options;  // of that command, which decide on the bytes
  std::vector<OutputShard> shards{};
  std::vector<std::string> omitted{};     // tensors that the output cannot have under their names
  std::vector<io::OtherMember> others{};  // what else the input holds, which is left out
  std::vector<std::string> notes{};       // what of the configuration is of no use
};

// What the options leave out is copied, or, where the output cannot have its name, omitted.
// `sharded`: one file for each of the input; what a weight consists of comes together in the file
// of its first part. Throws: error, naming the tensor; OptionError for patterns that are none.
[[nodiscard]] inline QuantizePlan plan_quantize(const StoredModel& model,
                                                const SchemeSource& source,
                                                const ConvertOptions& options, bool sharded);

// Every weight is decoded, to the type it had. With --skip-unreadable, all are decoded beforehand,
// and the parts of those that cannot be are copied. Throws: error, as what reads the model.
[[nodiscard]] inline QuantizePlan plan_dequantize(const StoredModel& model,
                                                  const ConvertOptions& options, bool sharded);

// Gives tensors whose parts have names longer than they are a place in a pool, where they are so
// many that other readers could not want them one by one. Casts stay what any reader understands.
inline void pool_small(OutputShard& shard) {
  std::vector<QuantizeJob*> pooled;
  for (QuantizeJob& job : shard.jobs)
    if (job.is_quantized() && may_be_pooled(*job.encoding)) pooled.push_back(&job);
  if (pooled.size() < pool_from_tensors) return;
  const auto comes_before = [](const QuantizeJob* a, const QuantizeJob* b) {
    return a->source->name < b->source->name;
  };
  if (!std::is_sorted(pooled.begin(), pooled.end(), comes_before))
    std::sort(pooled.begin(), pooled.end(), comes_before);
  for (QuantizeJob* job : pooled) {
    job->pooled = shard.pool_bytes;
    shard.pool_bytes += job->bytes_after();
  }
  if (shard.pool_bytes == 0)  // of tensors without elements
    for (QuantizeJob* job : pooled) job->pooled.reset();
}

inline void name_pools(std::vector<OutputShard>& shards, const StoredModel& model) {
  std::set<std::string_view> others;
  for (const io::OtherMember& other : model.others()) others.insert(other.name);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].pool_bytes == 0) continue;
    std::string& name = shards[i].pool;
    name = "tq.pool";
    if (shards.size() > 1) name += "." + std::to_string(i + 1);
    while (model.find(name) != nullptr || others.contains(name)) name += '_';
  }
}

// What the metadata says of them, pooled ones in the order of their places.
inline std::vector<Described> described(const std::vector<QuantizeJob>& jobs) {
  std::vector<const QuantizeJob*> quantized;
  for (const QuantizeJob& job : jobs)
    if (job.is_quantized()) quantized.push_back(&job);
  const auto comes_before = [](const QuantizeJob* a, const QuantizeJob* b) {
    return a->pooled.value_or(0) < b->pooled.value_or(0);
  };
  if (!std::is_sorted(quantized.begin(), quantized.end(), comes_before))
    std::stable_sort(quantized.begin(), quantized.end(), comes_before);
  std::vector<Described> list;
  for (const QuantizeJob* job : quantized)
    list.push_back({job->source, job->encoding.get(), job->pooled.has_value()});
  return list;
}

// `remedy`: what the user can do, for the message.
inline void require_different_names(const StoredModel& model,
                                    const std::vector<OutputShard>& shards,
                                    const std::string& remedy) {
  std::unordered_map<std::string, const QuantizeJob*> index;
  for (const OutputShard& shard : shards)
    for (const QuantizeJob& job : shard.jobs)
      for (io::TensorDecl& part : job.declarations(model)) {
        const auto [found, is_new] = index.emplace(std::move(part.name), &job);
        if (!is_new)
          raise(errc::bad_argument, "tensors " + io::shown(found->second->source->name) + " and " +
                                        io::shown(job.source->name) + " would both be stored as " +
                                        io::shown(found->first) + remedy);
      }
  for (const OutputShard& shard : shards)
    for (const io::OtherMember* other : shard.raw)
      if (const auto found = index.find(other->name); found != index.end())
        raise(errc::bad_argument, "tensor " + io::shown(found->second->source->name) +
                                      " would be stored as " + io::shown(other->name) +
                                      ", which is there in a type that is not read" + remedy);
}

// The first of the shards that have parts of a tensor.
inline std::size_t first_shard(const StoredModel& model, const StoredTensor& tensor) {
  std::size_t first = std::numeric_limits<std::size_t>::max();
  for (const PartPlace& part : model.places(tensor))
    first = std::min(first, model.contents().shard_of(*part.in));
  return first;
}

// The shards without their jobs.
inline std::vector<OutputShard> empty_shards(const StoredModel& model, bool sharded) {
  std::vector<OutputShard> shards;
  if (!sharded) shards.push_back({"", {}, model.other_metadata()});
  else
    for (const io::Shard& shard : model.contents().file().shards()) {
      const std::filesystem::path name(shard.name);
      // Shards that an index names are safetensors, whatever their names.
      const bool is_numpy =
          model.files().size() == 1 && (name.extension() == ".npy" || name.extension() == ".npz");
      shards.push_back(
          {is_numpy ? name.stem().string() + ".safetensors" : shard.name, {}, shard.metadata});
      if (model.has_description()) shards.back().other_metadata.erase(metadata_key);
    }
  return shards;
}

// Gives tensors of types that are not read to the shards that have them; notes what is left out.
inline void add_others(QuantizePlan& plan, const StoredModel& model, bool sharded) {
  for (const io::OtherMember& other : model.others())
    if (other.raw) plan.shards[sharded ? other.raw->shard : 0].raw.push_back(&other);
    else plan.others.push_back(other);
}

// Those whose tensors came to the shards of others.
inline void remove_empty_shards(QuantizePlan& plan, bool sharded) {
  if (sharded && plan.shards.size() > 1)
    std::erase_if(plan.shards,
                  [](const OutputShard& s) { return s.jobs.empty() && s.raw.empty(); });
}

// Why the values of a tensor cannot be made, or empty. All of them are made and dropped.
inline std::string decoding_problem(StoredModel& model, const StoredTensor& tensor) {
  if (tensor.plain != nullptr) return "";
  try {
    for_each_piece(tensor.elements(), [&](std::size_t first, std::size_t count) {
      static_cast<void>(model.piece(tensor, first, count));
    });
  } catch (const error& e) {
    if (e.code() == errc::io_failure) throw;
    return e.what();
  }
  return "";
}

// Decides what becomes of tensors one after the other.
class Decisions {
 public:
  Decisions(const SchemeSource& source, const ConvertOptions& options, const StoredModel& model)
      : options_(options), filter_(options.names), schemes_(source, options, model, filter_) {
    for (const io::OtherMember& other : model.others()) filter_.note(other.name);
  }

  // Nothing where the output cannot have the tensor.
  std::optional<QuantizeJob> decide(const StoredTensor& t) {
    const std::string& left_out = filter_.left_out(t.name);
    if (!io::is_tensor_name(t.name)) {
      if (left_out.empty())
        raise(errc::unsupported, "tensor " + io::shown(t.name) +
                                     ": expected a name that a safetensors file can "
                                     "have; --exclude leaves it out");
      return std::nullopt;
    }
    QuantizeJob job;
    job.source = &t;
    job.copied = no_weight(t, options_.requantize);
    if (job.copied.empty()) job.copied = left_out;
    if (!job.copied.empty()) return job;
    SchemeChoice::Choice chosen = schemes_.of(t);
    job.copied = std::move(chosen.left_alone);
    job.decided_by = std::move(chosen.decided_by);
    if (!job.copied.empty()) return job;
    job.encoding = encoding_for(t, chosen.spec);
    // Weights of another program come here only where --requantize asks for their values.
    if (!options_.all && !chosen.is_named && !t.foreign)
      job.copied = growth(t, job.encoding->layout);
    if (!job.copied.empty()) {
      job.encoding.reset();
      return job;
    }
    job.bands.emplace(t, *job.encoding);
    return job;
  }
  void require_matches() const { filter_.require_matches(); }
  [[nodiscard]] const std::vector<std::string>& unused() const { return schemes_.unused(); }

 private:
  std::shared_ptr<const Encoding> encoding_for(const StoredTensor& t, const QuantSpec& spec) {
    try {
      return naming(t.name, [&] {
        auto& encoding = encodings_[{to_string(spec), t.shape}];
        if (encoding == nullptr) encoding = encoding_of(spec, t.shape);
        return encoding;
      });
    } catch (const error& e) {
      raise(e.code(), std::string(e.what()) + "; --exclude it");
    }
  }

  const ConvertOptions& options_;
  NameFilter filter_;
  SchemeChoice schemes_;
  std::map<std::pair<std::string, std::vector<std::size_t>>, std::shared_ptr<const Encoding>>
      encodings_;  // by scheme and shape
};

inline std::vector<io::TensorDecl> QuantizeJob::declarations(const StoredModel& model) const {
  if (pooled) return {};
  if (is_decoded) return {{source->name, source->dtype, source->shape}};
  std::vector<io::TensorDecl> list;
  if (is_quantized())
    for (const StoredPart& part : encoding->parts)
      list.push_back({part.name(source->name), part.dtype, part.shape});
  else
    for (PartPlace& part : model.places(*source)) list.push_back(std::move(part.declaration));
  return list;
}

inline std::uint64_t QuantizeJob::working_bytes() const {
  const Encoding* const used = is_decoded ? source->encoding.get() : encoding.get();
  if (used == nullptr && !is_decoded) return 0;
  const std::uint64_t decoded =
      source->foreign ? source->bytes + 2 * sizeof(float) * source->elements() : 0;
  if (used == nullptr) return decoded;
  // Ranges, parameters, what is stored of them, and means where they are asked for.
  const std::uint64_t of_block =
      used->spec.calibrator == tq::detail::min_max_calibrator::name ? 48 : 160;
  if (is_decoded) return of_block * used->layout.scales.size() + decoded;
  const Band band = (*bands)[0];  // the largest
  const std::uint64_t blocks = AnyGranularity(used->spec).grid(to_shape(band.shape)).size();
  const std::uint64_t held =
      band.stretch.count <= Bands::most_held ? sizeof(float) * band.stretch.count : 0;
  return of_block * blocks + held + decoded;
}

inline std::vector<io::TensorDecl> OutputShard::declarations(const StoredModel& model) const {
  std::vector<io::TensorDecl> list;
  if (!pool.empty()) list.push_back({pool, io::DType::u8, {static_cast<std::size_t>(pool_bytes)}});
  for (const QuantizeJob& job : jobs)
    for (io::TensorDecl& part : job.declarations(model)) list.push_back(std::move(part));
  for (const io::OtherMember* other : raw) list.push_back(raw_declaration(*other));
  return list;
}

inline io::Metadata OutputShard::metadata() const {
  io::Metadata out = other_metadata;
  if (is_described) out[metadata_key] = metadata_text(described(jobs), pool);
  return out;
}

inline std::uint64_t OutputShard::bytes_before() const {
  std::uint64_t sum = 0;
  for (const QuantizeJob& job : jobs) sum += job.source->bytes;
  for (const io::OtherMember* other : raw) sum += other->raw->size_bytes;
  return sum;
}

inline QuantizePlan plan_quantize(const StoredModel& model, const SchemeSource& source,
                                  const ConvertOptions& options, bool sharded) {
  QuantizePlan plan{{{"spec", io::spec_to_json(source.spec)},
                     {"has_config", source.has_config()},
                     {"include", options.names.include},
                     {"exclude", options.names.exclude},
                     {"all", options.all},
                     {"requantize", options.requantize},
                     {"allow_nonfinite", options.allow_nonfinite}},
                    empty_shards(model, sharded)};
  Decisions decisions(source, options, model);
  for (const StoredTensor& t : model.tensors()) {
    std::optional<QuantizeJob> job = decisions.decide(t);
    if (!job) {
      plan.omitted.push_back(t.name);
      continue;
    }
    const std::size_t shard = sharded ? first_shard(model, t) : std::size_t{0};
    plan.shards[shard].jobs.push_back(*std::move(job));
  }
  decisions.require_matches();
  plan.notes = decisions.unused();
  add_others(plan, model, sharded);
  for (OutputShard& shard : plan.shards) pool_small(shard);
  name_pools(plan.shards, model);
  require_different_names(model, plan.shards, "; --exclude the quantized one");
  remove_empty_shards(plan, sharded);
  return plan;
}

inline QuantizePlan plan_dequantize(const StoredModel& model, const ConvertOptions& options,
                                    bool sharded) {
  QuantizePlan plan{{{"skip_unreadable", options.skip_unreadable}}, empty_shards(model, sharded)};
  for (OutputShard& shard : plan.shards) shard.is_described = false;
  StoredModel reader = model.another();
  for (const StoredTensor& t : model.tensors()) {
    QuantizeJob job;
    job.source = &t;
    if (t.is_unreadable) job.copied = t.left_alone;
    else if (options.skip_unreadable)
      job.copied = in_memory(t, [&] { return decoding_problem(reader, t); });
    job.is_decoded = t.plain == nullptr && job.copied.empty();
    plan.shards[sharded ? first_shard(model, t) : 0].jobs.push_back(std::move(job));
  }
  add_others(plan, model, sharded);
  require_different_names(model, plan.shards, "");
  remove_empty_shards(plan, sharded);
  return plan;
}

}  // namespace tq::store::detail
