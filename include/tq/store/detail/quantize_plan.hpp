// SPDX-License-Identifier: MIT
#pragma once
// QuantizePlan: the future of every tensor of a model, and its file of the output.

#include <tq/containers/safetensors_writer.hpp>
#include <tq/error.hpp>
#include <tq/json/json.hpp>
#include <tq/json/weight_algorithm_json.hpp>
#include <tq/ops/compare.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/store/conversion_report.hpp>
#include <tq/store/detail/decisions.hpp>
#include <tq/store/detail/digest.hpp>
#include <tq/store/detail/fused_experts.hpp>
#include <tq/store/detail/output_shard.hpp>
#include <tq/store/detail/scheme_choice.hpp>
#include <tq/store/detail/shard_names.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/finite_part.hpp>
#include <tq/store/in_memory.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/name_filter.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/pool.hpp>

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

struct QuantizePlan {
  io::Json options;  // of that command, which decide on the bytes
  std::vector<OutputShard> shards{};
  std::vector<std::string> omitted{};     // tensors that the output cannot have under their names
  std::vector<io::OtherMember> others{};  // what else the input holds, which is left out
  std::vector<std::string> notes{};       // what of the configuration is of no use
};

// Tensors that the options leave out are copied, or, where the output cannot have their names,
// omitted. `sharded`: one file for each of the input; what a weight consists of comes together in
// the file of its first part. Throws: error, naming the tensor; OptionError for patterns that are
// none.
[[nodiscard]] inline QuantizePlan plan_quantize(const ModelContents& model,
                                                const SchemeSource& source,
                                                const ConvertOptions& options, bool sharded);

// Every weight is decoded, to the type it had; scales of activations are left out. With `skip_unreadable`, all are decoded beforehand,
// and the parts of those that cannot be are copied. Throws: error, as what reads the model.
template <class Model>
[[nodiscard]] QuantizePlan plan_dequantize(const Model& model, const ConvertOptions& options,
                                           bool sharded);

// `remedy`: what the user can do, for the message.
inline void require_different_names(const ModelContents& model,
                                    const std::vector<OutputShard>& shards,
                                    const std::string& remedy) {
  std::unordered_map<std::string, const QuantizeJob*> index;
  for (const OutputShard& shard : shards)
    for (const QuantizeJob& job : shard.jobs)
      for (io::TensorDecl& part : job.declarations(model)) {
        const auto [found, is_new] = index.emplace(std::move(part.name), &job);
        if (!is_new)
          tq::detail::raise_text(errc::bad_argument,
                                 {"tensors ", io::shown(found->second->source->name), " and ",
                                  io::shown(job.source->name), " would both be stored as ",
                                  io::shown(found->first), remedy});
      }
  for (const OutputShard& shard : shards)
    for (const io::OtherMember* other : shard.raw)
      if (const auto found = index.find(other->name); found != index.end())
        tq::detail::raise_text(
            errc::bad_argument,
            {"tensor ", io::shown(found->second->source->name), " would be stored as ",
             io::shown(other->name), ", which is there in a type that is not read", remedy});
}

// The first of the shards that have parts of a tensor.
inline std::size_t first_shard(const ModelContents& model, const StoredTensor& tensor) {
  std::size_t first = std::numeric_limits<std::size_t>::max();
  for (const PartPlace& part : model.places(tensor))
    first = std::min(first, model.shard_of(*part.in));
  return first;
}

// The shards without their jobs.
inline std::vector<OutputShard> empty_shards(const ModelContents& model, bool sharded) {
  std::vector<OutputShard> shards;
  if (!sharded) shards.push_back({"", {}, model.other_metadata()});
  else
    for (const io::Shard& shard : model.file().shards()) {
      // Shards that an index names are safetensors, whatever their names.
      const std::string kind = model.files().front().extension().string();
      const bool is_other = kind == ".npy" || kind == ".npz" || kind == ".gguf";
      const std::string stem = std::filesystem::path(shard.name).stem().string();
      shards.push_back({is_other ? stem + ".safetensors" : shard.name, {}, shard.metadata});
      if (model.is_described()) shards.back().other_metadata.erase(metadata_key);
    }
  return shards;
}

// Gives tensors of types that are not read to the shards that have them; notes what is left out.
// Throws: `errc::unsupported` for weights that are not understood and that `may_lack` does not
// name.
template <class MayLack>
void add_others(QuantizePlan& plan, const ModelContents& model, bool sharded,
                const MayLack& may_lack, const std::string& remedy) {
  for (const io::OtherMember& other : model.others())
    if (other.raw) plan.shards[sharded ? other.raw->shard : 0].raw.push_back(&other);
    else if (other.is_weight && !may_lack(other.name))
      tq::detail::raise_text(errc::unsupported,
                             {"tensor ", io::shown(other.name), ": ", other.reason, "; ", remedy});
    else plan.others.push_back(other);
}

// Throws: `errc::bad_argument` for blocks of GGUF that nobody asked to quantize anew: as they are
// decoded, the copy would be larger than the model.
inline void require_no_blocks(const ModelContents& model, const ConvertOptions& options) {
  if (options.requantize) return;
  for (const StoredTensor& t : model.tensors())
    if (!t.blocks.empty())
      tq::detail::raise_text(
          errc::bad_argument,
          {"tensor ", io::shown(t.name), ": expected a model that is not quantized yet, got ",
           t.scheme(), "; `requantize` quantizes it anew, dequantize turns it back"});
}

// Removes shards whose tensors came to other shards, and counts the rest anew.
inline void remove_empty_shards(QuantizePlan& plan, bool sharded) {
  if (!sharded || plan.shards.size() < 2) return;
  const auto is_empty = [](const OutputShard& s) { return s.jobs.empty() && s.raw.empty(); };
  if (std::erase_if(plan.shards, is_empty) != 0) count_shards(plan.shards);
}

// The reason why the values of a tensor cannot be made, or empty. All of them are made and dropped.
template <class Model>
std::string decoding_problem(Model& model, const StoredTensor& tensor) {
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

// Puts the algorithms of weights and their Hessians into the options that decide on the bytes.
// Throws: `errc::bad_argument` for Hessians that no weight takes.
inline void add_algorithms(QuantizePlan& plan, const Hessians* hessians) {
  Digest algorithms;
  bool takes_hessians = false;  // also where a fallback is taken
  const auto add = [&](const std::string& name, const std::optional<WeightAlgorithm>& algorithm,
                       bool is_fallback) {
    takes_hessians = takes_hessians || is_fallback || (algorithm && algorithm->needs_hessian());
    if (algorithm)
      algorithms.add(name).add(algorithm->inputs).add(io::algorithm_to_json(*algorithm).dump());
  };
  for (const OutputShard& shard : plan.shards)
    for (const QuantizeJob& job : shard.jobs) {
      add(job.source->name, job.algorithm, job.weights.has_value());
      if (!job.layers) continue;
      for (const WrittenLayer& layer : job.layers->layers)
        add(layer.weight.module, layer.algorithm, layer.report.has_value());
    }
  plan.options["algorithms"] = algorithms.text();
  if (hessians == nullptr) return;
  if (!takes_hessians)
    raise(errc::bad_argument,
          "expected a weight with an algorithm that takes the Hessians that are given, got none");
  plan.options["hessians"] = hessians->digest();
}

inline QuantizePlan plan_quantize(const ModelContents& model, const SchemeSource& source,
                                  const ConvertOptions& options, bool sharded) {
  QuantizePlan plan{{{"spec", io::spec_to_json(source.spec)},
                     {"has_config", source.has_config()},
                     {"include", options.names.include},
                     {"exclude", options.names.exclude},
                     {"all", options.all},
                     {"requantize", options.requantize},
                     {"allow_nonfinite", options.allow_nonfinite}},
                    empty_shards(model, sharded)};
  require_no_blocks(model, options);
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
  add_algorithms(plan, options.hessians);
  decisions.require_matches();
  plan.notes = decisions.unused();
  add_others(
      plan, model, sharded, [&](const std::string& name) { return decisions.leaves_out(name); },
      "`exclude` leaves it out");
  for (OutputShard& shard : plan.shards) pool_small(shard);
  name_pools(plan.shards, model);
  require_different_names(model, plan.shards, "; `exclude` the quantized one");
  remove_empty_shards(plan, sharded);
  return plan;
}

template <class Model>
QuantizePlan plan_dequantize(const Model& reading, const ConvertOptions& options, bool sharded) {
  const ModelContents& model = reading.contents();
  QuantizePlan plan{{{"skip_unreadable", options.skip_unreadable}}, empty_shards(model, sharded)};
  for (OutputShard& shard : plan.shards) shard.is_described = false;
  Model reader = reading.another();
  FusedExperts experts(model, model.files().front().parent_path() / "config.json");
  if (std::string note = experts.note(); !note.empty()) plan.notes.push_back(std::move(note));
  std::size_t left_out = 0;  // scales of activations
  for (const StoredTensor& t : model.tensors()) {
    if (t.is_of_activations) {
      ++left_out;
      continue;
    }
    QuantizeJob job;
    job.source = &t;
    if (t.is_unreadable) job.copied = t.left_alone;
    else if (options.skip_unreadable)
      job.copied = in_memory(t, [&] { return decoding_problem(reader, t); });
    job.is_decoded = (t.plain == nullptr || !t.blocks.empty()) && job.copied.empty();
    if (!job.copied.empty() && t.foreign && t.foreign->experts != 0)
      tq::detail::raise_text(errc::unsupported,
                             {"tensor ", io::shown(t.name), ": ", job.copied,
                              "; the other experts of its stack cannot be read without it"});
    experts.place(job);
    const std::size_t shard = experts.shard_of(job, sharded ? first_shard(model, t) : 0);
    plan.shards[shard].jobs.push_back(std::move(job));
  }
  if (left_out != 0)
    plan.notes.push_back("scales of activations are left out, as a float model has none: " +
                         std::to_string(left_out));
  add_others(
      plan, model, sharded, [&](const std::string&) { return options.skip_unreadable; },
      "`skip_unreadable` leaves it out");
  require_different_names(model, plan.shards, "");
  remove_empty_shards(plan, sharded);
  return plan;
}

}  // namespace tq::store::detail
