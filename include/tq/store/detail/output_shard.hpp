// SPDX-License-Identifier: MIT
#pragma once
// A file of the output: its tensors, their parts and its text pairs.

#include <tq/checkpoints/model_layer.hpp>
#include <tq/containers/other_member.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/conversion_report.hpp>
#include <tq/store/description.hpp>
#include <tq/store/detail/bands.hpp>
#include <tq/store/detail/chosen_algorithm.hpp>
#include <tq/store/detail/layers_job.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/pool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::store::detail {

// A tensor on its way to the output.
struct QuantizeJob : ConvertedTensor {
  std::optional<Bands> bands{};           // if it will have an encoding
  std::optional<io::DType> decoded_as{};  // the type of a decoded tensor, where it is not its own
  std::shared_ptr<LayersJob> layers{};    // that it becomes in a format of other programs, or null
  std::optional<WeightAlgorithm> algorithm{};  // that is not rtn; its `inputs` are named
  std::size_t inputs = 0;                      // of the Hessian of the algorithm, of all groups
  io::MatrixPlace in_stack{};                  // where its matrix is in `stack`
  bool declares_stack = false;                 // for all tensors in it
  std::optional<std::uint64_t> pooled{};  // where its parts begin in the pool, if they are there

  // The tensors of the output that it becomes, without what is in the pool.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const ModelContents& model) const;
  // Bytes of a tensor that is in no pool.
  [[nodiscard]] std::uint64_t written_bytes() const {
    if (layers) return layers->bytes();
    if (decoded_as) return *io::storage_bytes(*decoded_as, source->shape);
    return bytes_after();
  }
  // The memory that work on the tensor takes at most, beside the memory that threads keep.
  [[nodiscard]] std::uint64_t working_bytes() const;
  [[nodiscard]] bool has_algorithm() const {
    return layers ? layers->has_algorithm() : algorithm.has_value();
  }
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
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const ModelContents& model) const;
  [[nodiscard]] io::Metadata metadata() const;
  [[nodiscard]] std::uint64_t bytes_before() const;
};

// The entries of the metadata, pooled tensors in the order of their places.
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

inline std::vector<io::TensorDecl> QuantizeJob::declarations(const ModelContents& model) const {
  if (pooled || (stack && !declares_stack)) return {};
  if (stack) return {*stack};
  if (layers) return layers->declarations();
  if (is_decoded) return {{source->name, decoded_as.value_or(source->dtype), source->shape}};
  std::vector<io::TensorDecl> list;
  if (is_quantized())
    for (const StoredPart& part : encoding->parts)
      list.push_back({part.name(source->name), part.dtype, part.shape});
  else if (!source->shares_parts())
    for (PartPlace& part : model.places(*source)) list.push_back(std::move(part.declaration));
  return list;
}

inline std::uint64_t QuantizeJob::working_bytes() const {
  if (layers) return layers->working_bytes(*source);
  if (algorithm) return algorithm_bytes(*algorithm, inputs, source->elements());
  const Encoding* const used = is_decoded ? source->encoding.get() : encoding.get();
  if (used == nullptr && !is_decoded) return 0;
  const std::uint64_t decoded =
      source->foreign ? source->bytes + 2 * sizeof(float) * source->elements() : 0;
  const std::uint64_t turned = stack && !in_stack.is_dense(source->shape.back())
                                   ? 2 * sizeof(float) * source->elements()
                                   : 0;
  if (used == nullptr) return decoded + turned;
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

inline std::vector<io::TensorDecl> OutputShard::declarations(const ModelContents& model) const {
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

inline void name_pools(std::vector<OutputShard>& shards, const ModelContents& model) {
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

}  // namespace tq::store::detail
