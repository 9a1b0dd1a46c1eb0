// SPDX-License-Identifier: MIT
#pragma once
// What becomes of every tensor of a model, and in which file of the output.

#include "bands.hpp"
#include "commands.hpp"
#include "finite_part.hpp"
#include "stored_model.hpp"

#include <tq/containers/safetensors_writer.hpp>
#include <tq/json/json.hpp>
#include <tq/ops/compare.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// A tensor on its way to the output.
struct QuantizeJob {
  const StoredTensor* source = nullptr;
  std::shared_ptr<const Encoding> encoding{};  // that it will have, or null
  std::optional<Bands> bands{};                // if it will have one
  bool is_decoded = false;                     // written in the type it had, by dequantize
  std::string copied{};                        // why its parts are copied, or empty
  std::string decided_by{};                    // what of a configuration decided on it
  std::optional<std::uint64_t> pooled{};  // where its parts begin in the pool, if they are there
  tq::ErrorMetrics metrics{};             // of the finite values
  NonFiniteCounts nonfinite{};

  [[nodiscard]] bool is_quantized() const { return encoding != nullptr; }
  [[nodiscard]] std::uint64_t bytes_after() const {
    if (is_decoded) return source->plain_bytes();
    return is_quantized() ? encoding->layout.bytes() : source->bytes;
  }
  [[nodiscard]] double bits_per_weight() const {
    const auto n = static_cast<double>(source->elements());
    return n == 0 ? 0.0 : 8.0 * static_cast<double>(bytes_after()) / n;
  }
  // The tensors of the output that it becomes, without what is in the pool.
  [[nodiscard]] std::vector<tq::io::TensorDecl> declarations(const StoredModel& model) const;
  // Of memory, beside what threads keep: what it takes to work on the tensor, at most.
  [[nodiscard]] std::uint64_t working_bytes() const;
};

// A file of the output.
struct OutputShard {
  std::string name;                   // that of the input; empty where all is one file
  std::vector<QuantizeJob> jobs;      // in the order of the input
  tq::io::Metadata other_metadata{};  // all text pairs but that of tq
  std::string pool{};                 // the tensor that small ones share, or empty
  std::uint64_t pool_bytes = 0;
  bool is_described = true;  // by the text pair of tq
  // Tensors of types that are not read, which are copied; of the file of the model.
  std::vector<const tq::io::OtherMember*> raw{};

  // The tensors it is made of. The model is the one that was planned for.
  [[nodiscard]] std::vector<tq::io::TensorDecl> declarations(const StoredModel& model) const;
  [[nodiscard]] tq::io::Metadata metadata() const;
  [[nodiscard]] std::uint64_t bytes_before() const;
};

struct QuantizePlan {
  std::string command;   // that works on it
  tq::io::Json options;  // of that command, which decide on the bytes
  std::vector<OutputShard> shards{};
  std::vector<std::string> omitted{};  // tensors that the output cannot have under their names
  std::vector<tq::io::OtherMember> others{};  // what else the input holds, which is left out
  std::vector<std::string> notes{};           // what of the configuration is of no use
};

// What the options leave out is copied, or, where the output cannot have its name, omitted.
// `sharded`: one file for each of the input; what a weight consists of comes together in the file
// of its first part. Throws: tq::error, naming the tensor; UsageError for patterns that are none.
[[nodiscard]] QuantizePlan plan_quantize(const StoredModel& model, const QuantizeOptions& options,
                                         bool sharded);

// Every weight is decoded, to the type it had. With --skip-unreadable, all are decoded beforehand,
// and the parts of those that cannot be are copied. Throws: tq::error, as what reads the model.
[[nodiscard]] QuantizePlan plan_dequantize(const StoredModel& model,
                                           const DequantizeOptions& options, bool sharded);

}  // namespace tool
