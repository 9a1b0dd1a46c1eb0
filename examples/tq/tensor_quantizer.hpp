// SPDX-License-Identifier: MIT
#pragma once
// Takes tensors to the output, quantized, decoded or as they are.

#include "finite_part.hpp"
#include "quantize_plan.hpp"
#include "shard_writer.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace tool {

// Works piece by piece, in memory that is kept from tensor to tensor. For one thread.
class TensorQuantizer {
 public:
  TensorQuantizer(const StoredModel& model, bool allow_nonfinite)
      : model_(model.another()),
        allow_nonfinite_(allow_nonfinite),
        floats_(model_, allow_nonfinite, Bands::most_held),
        finite_(allow_nonfinite) {}
  TensorQuantizer(const TensorQuantizer&) = delete;
  TensorQuantizer& operator=(const TensorQuantizer&) = delete;

  // Writes the tensor, and notes in the job what was lost. Throws: tq::error, naming the tensor.
  void run(QuantizeJob& job, ShardWriter& out);

 private:
  void copy(const QuantizeJob& job, ShardWriter& out);
  void decode(const QuantizeJob& job, ShardWriter& out);
  void quantize(QuantizeJob& job, ShardWriter& out);
  template <class Put>
  void encode(QuantizeJob& job, Put&& put);
  void fit(const QuantizeJob& job, const Band& band);
  void observe(const QuantizeJob& job, const Band& band);

  StoredModel model_;
  bool allow_nonfinite_;
  FloatReader floats_;
  PieceCoder coder_;
  std::vector<std::byte> codes_;
  std::vector<float> back_;
  FinitePart finite_;
};

}  // namespace tool
