// SPDX-License-Identifier: MIT
#include "quantize_plan.hpp"

#include "name_filter.hpp"
#include "scheme_choice.hpp"
#include "schemes.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

namespace tool {

namespace {

using tq::errc;

// Gives tensors whose parts have names longer than they are a place in a pool, where they are so
// many that other readers could not want them one by one. Casts stay what any reader understands.
void pool_small(OutputShard& shard) {
  constexpr std::size_t small = 64, many = 4096;
  std::vector<QuantizeJob*> pooled;
  for (QuantizeJob& job : shard.jobs)
    if (job.is_quantized() && job.encoding->layout.stored.bits != 0 && job.bytes_after() < small)
      pooled.push_back(&job);
  if (pooled.size() < many) return;
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

void name_pools(std::vector<OutputShard>& shards, const StoredModel& model) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].pool_bytes == 0) continue;
    std::string& name = shards[i].pool;
    name = "tq.pool";
    if (shards.size() > 1) name += "." + std::to_string(i + 1);
    const auto is_taken = [&] {
      return model.find(name) != nullptr ||
             std::any_of(model.others().begin(), model.others().end(),
                         [&](const tq::io::OtherMember& other) { return other.name == name; });
    };
    while (is_taken()) name += '_';
  }
}

// What the metadata says of them, pooled ones in the order of their places.
std::vector<Described> described(const std::vector<QuantizeJob>& jobs) {
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

// Calls f(declaration) for the tensors of the output that one of the input becomes.
template <class F>
void for_each_part(const StoredModel& model, const QuantizeJob& job, F&& f) {
  if (job.pooled) return;
  if (job.is_quantized()) {
    for (const StoredPart& part : job.encoding->parts)
      f(tq::io::TensorDecl{part.name(job.source->name), part.dtype, part.shape});
  } else {
    for (const tq::io::TensorInfo* part : model.parts(*job.source))
      f(tq::io::TensorDecl{part->name, part->dtype, part->shape});
  }
}

void require_different_names(const StoredModel& model, const std::vector<OutputShard>& shards) {
  std::unordered_map<std::string, const QuantizeJob*> index;
  for (const OutputShard& shard : shards)
    for (const QuantizeJob& job : shard.jobs)
      for_each_part(model, job, [&](tq::io::TensorDecl&& part) {
        const auto [found, is_new] = index.emplace(std::move(part.name), &job);
        if (!is_new)
          throw tq::error(errc::bad_argument,
                          "tensors " + tq::io::detail::shown(found->second->source->name) +
                              " and " + tq::io::detail::shown(job.source->name) +
                              " would both be stored as " + tq::io::detail::shown(found->first) +
                              "; --exclude the quantized one");
      });
  for (const OutputShard& shard : shards)
    for (const tq::io::OtherMember* other : shard.raw)
      if (const auto found = index.find(other->name); found != index.end())
        throw tq::error(errc::bad_argument,
                        "tensor " + tq::io::detail::shown(found->second->source->name) +
                            " would be stored as " + tq::io::detail::shown(other->name) +
                            ", which is there in a type that is not read; --exclude leaves it out");
}

// The first of the shards that have parts of a tensor.
std::size_t first_shard(const StoredModel& model, const StoredTensor& tensor) {
  std::size_t first = std::numeric_limits<std::size_t>::max();
  for (const tq::io::TensorInfo* part : model.parts(tensor))
    first = std::min(first, model.contents().shard_of(*part));
  return first;
}

// The shards without their jobs.
std::vector<OutputShard> empty_shards(const StoredModel& model, bool sharded) {
  std::vector<OutputShard> shards;
  if (!sharded) shards.push_back({"", {}, model.other_metadata()});
  else
    for (const tq::io::Shard& shard : model.contents().file().shards()) {
      const std::filesystem::path name(shard.name);
      const bool is_numpy = name.extension() == ".npy" || name.extension() == ".npz";
      shards.push_back(
          {is_numpy ? name.stem().string() + ".safetensors" : shard.name, {}, shard.metadata});
      shards.back().other_metadata.erase(metadata_key);
    }
  return shards;
}

// Decides what becomes of tensors one after the other.
class Decisions {
 public:
  Decisions(const QuantizeOptions& options, const StoredModel& model)
      : options_(options), filter_(options.names), schemes_(options, model) {}

  // Nothing where the output cannot have the tensor.
  std::optional<QuantizeJob> decide(const StoredTensor& t) {
    const std::string& left_out = filter_.left_out(t.name);
    if (!tq::io::is_tensor_name(t.name)) {
      if (left_out.empty())
        throw tq::error(errc::unsupported, "tensor " + tq::io::detail::shown(t.name) +
                                               ": expected a name that a safetensors file can "
                                               "have; --exclude leaves it out");
      return std::nullopt;
    }
    QuantizeJob job{&t};
    job.copied = no_weight(t, options_.requantize);
    if (job.copied.empty()) job.copied = left_out;
    if (!job.copied.empty()) return job;
    SchemeChoice::Choice chosen = schemes_.of(t);
    job.copied = std::move(chosen.left_alone);
    job.decided_by = std::move(chosen.decided_by);
    if (job.copied.empty()) job.encoding = encoding_for(t, chosen.spec);
    return job;
  }
  void require_matches() const { filter_.require_matches(); }

 private:
  std::shared_ptr<const Encoding> encoding_for(const StoredTensor& t, const tq::QuantSpec& spec) {
    try {
      return naming(t.name, [&] {
        auto& encoding = encodings_[{to_string(spec), t.shape}];
        if (encoding == nullptr) encoding = encoding_of(spec, t.shape);
        return encoding;
      });
    } catch (const tq::error& e) {
      throw tq::error(e.code(), std::string(e.what()) + "; --exclude it");
    }
  }

  const QuantizeOptions& options_;
  NameFilter filter_;
  SchemeChoice schemes_;
  std::map<std::pair<std::string, std::vector<std::size_t>>, std::shared_ptr<const Encoding>>
      encodings_;  // by scheme and shape
};

}  // namespace

std::uint64_t QuantizeJob::working_bytes() const {
  if (!is_quantized()) return 0;
  // Ranges, parameters, what is stored of them, and means where they are asked for.
  const std::uint64_t of_block =
      encoding->spec.calibrator == tq::detail::min_max_calibrator::name ? 48 : 160;
  const std::uint64_t decoded =
      source->foreign ? source->bytes + 2 * sizeof(float) * source->elements() : 0;
  return of_block * encoding->layout.scales.size() + decoded;
}

std::vector<tq::io::TensorDecl> OutputShard::declarations(const StoredModel& model) const {
  std::vector<tq::io::TensorDecl> list;
  if (!pool.empty())
    list.push_back({pool, tq::io::DType::u8, {static_cast<std::size_t>(pool_bytes)}});
  for (const QuantizeJob& job : jobs)
    for_each_part(model, job, [&](tq::io::TensorDecl&& part) { list.push_back(std::move(part)); });
  for (const tq::io::OtherMember* other : raw) list.push_back(raw_declaration(*other));
  return list;
}

tq::io::Metadata OutputShard::metadata() const {
  tq::io::Metadata out = other_metadata;
  out[metadata_key] = metadata_text(described(jobs), pool);
  return out;
}

std::uint64_t OutputShard::bytes_before() const {
  std::uint64_t sum = 0;
  for (const QuantizeJob& job : jobs) sum += job.source->bytes;
  for (const tq::io::OtherMember* other : raw) sum += other->raw->size_bytes;
  return sum;
}

QuantizePlan plan_quantize(const StoredModel& model, const QuantizeOptions& options, bool sharded) {
  QuantizePlan plan{empty_shards(model, sharded), {}};
  Decisions decisions(options, model);
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
  for (const tq::io::OtherMember& other : model.others())
    if (other.raw) plan.shards[sharded ? other.raw->shard : 0].raw.push_back(&other);
    else plan.others.push_back(other);
  for (OutputShard& shard : plan.shards) pool_small(shard);
  name_pools(plan.shards, model);
  require_different_names(model, plan.shards);
  if (sharded && plan.shards.size() > 1)  // whose tensors came to those of others
    std::erase_if(plan.shards, [](const OutputShard& s) { return s.jobs.empty(); });
  return plan;
}

}  // namespace tool
