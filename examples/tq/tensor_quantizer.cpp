// SPDX-License-Identifier: MIT
#include "tensor_quantizer.hpp"

#include <tq/ops/compare.hpp>

#include <algorithm>
#include <cstdint>

namespace tool {

namespace {

// Puts parts one after the other into the place of a pooled tensor, the codes first.
class PoolPlace {
 public:
  PoolPlace(std::span<std::byte> place, std::size_t code_bytes)
      : codes_(place.first(code_bytes)), others_(place.subspan(code_bytes)) {}
  void put(PartKind kind, std::span<const std::byte> bytes) {
    std::span<std::byte>& to = kind == PartKind::codes ? codes_ : others_;
    std::copy(bytes.begin(), bytes.end(), to.begin());
    to = to.subspan(bytes.size());
  }

 private:
  std::span<std::byte> codes_, others_;
};

}  // namespace

void TensorQuantizer::run(QuantizeJob& job, ShardWriter& out) {
  in_memory(*job.source, [&] {
    if (job.is_quantized()) naming(job.source->name, [&] { quantize(job, out); });
    else copy(job, out);
  });
}

void TensorQuantizer::copy(const QuantizeJob& job, ShardWriter& out) {
  for (const tq::io::TensorInfo* part : model_.parts(*job.source)) {
    constexpr std::uint64_t piece = std::uint64_t{1} << 18;
    for (std::uint64_t at = 0; at < part->size_bytes; at += piece)
      out.append(part->name,
                 model_.bytes(*part, at,
                              static_cast<std::size_t>(std::min(piece, part->size_bytes - at))));
  }
}

// Values are read twice: for the ranges, and for the codes and what was lost.
void TensorQuantizer::quantize(QuantizeJob& job, ShardWriter& out) {
  coder_.start(job.encoding->spec, to_shape(job.source->shape));
  floats_.for_each(*job.source, [&](std::size_t first, std::span<const float> values) {
    coder_.observe(first, values);
  });
  fit_weights(coder_, allow_nonfinite_);
  if (!job.pooled) {
    encode(job, [&](const StoredPart& part, std::span<const std::byte> bytes) {
      out.append(part.name(job.source->name), bytes);
    });
    return;
  }
  PoolPlace place(out.pooled(job), job.encoding->layout.code_bytes);
  encode(job, [&](const StoredPart& part, std::span<const std::byte> bytes) {
    place.put(part.kind, bytes);
  });
}

// Calls put(part, its next bytes).
template <class Put>
void TensorQuantizer::encode(QuantizeJob& job, Put&& put) {
  const std::vector<StoredPart>& parts = job.encoding->parts;
  for (const StoredPart& part : std::span(parts).subspan(1))
    put(part, part_bytes(coder_.parameters(), part));
  tq::Comparison<> lost;
  floats_.for_each(*job.source, [&](std::size_t first, std::span<const float> values) {
    codes_.resize(coder_.code_bytes(values.size()));
    coder_.encode(first, values, codes_);
    put(parts.front(), codes_);
    back_.resize(values.size());
    coder_.decode(first, codes_, back_);
    tq::io::round_to(back_, job.source->dtype);
    finite_.take(values, back_);
    lost.add(finite_.values(), finite_.back());
    job.nonfinite.add(finite_.left_out());
  });
  job.metrics = lost.metrics();
}

}  // namespace tool
