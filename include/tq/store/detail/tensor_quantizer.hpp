// SPDX-License-Identifier: MIT
#pragma once
// Takes tensors to the output, quantized, decoded or as they are.

#include <tq/checkpoints/detail/transposed.hpp>
#include <tq/checkpoints/model_layer.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ptq/encode_weights.hpp>
#include <tq/scheme/piece_coder.hpp>
#include <tq/scheme/stored_parameters.hpp>
#include <tq/store/detail/layer_writer.hpp>
#include <tq/store/detail/quantize_plan.hpp>
#include <tq/store/detail/shard_writer.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/finite_part.hpp>
#include <tq/store/fit_weights.hpp>
#include <tq/store/float_reader.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/in_memory.hpp>
#include <tq/store/part_bytes.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/stored_parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq::store::detail {

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

// `encode_weights` for the types of a coder.
template <class Coder>
struct CoderTypes;
template <class Types, class ScaleTypes, Backend B>
struct CoderTypes<PieceCoder<Types, ScaleTypes, B>> {
  template <class... Arguments>
  static EncodedWeights encode_weights(const Arguments&... arguments) {
    return tq::encode_weights<Types, ScaleTypes, B>(arguments...);
  }
};

// The end of errors about weights that cannot be read.
inline constexpr const char* skip_hint = "; `skip_unreadable` copies its parts as they are";

// Calls f(), which decodes; an error that is not the disk's says what goes on without the values.
template <class F>
decltype(auto) hinting_skip(F&& f) {
  try {
    return f();
  } catch (const error& e) {
    if (e.code() == errc::io_failure) throw;
    raise(e.code(), std::string(e.what()) + skip_hint);
  }
}

// Works piece by piece, in memory that is kept from tensor to tensor. For one thread.
template <class Model>
class TensorQuantizer {
 public:
  TensorQuantizer(const Model& model, bool allow_nonfinite, const Hessians* hessians)
      : model_(model.another()),
        hessians_(hessians),
        allow_nonfinite_(allow_nonfinite),
        floats_(model_, allow_nonfinite, Bands::most_held),
        finite_(allow_nonfinite) {}
  TensorQuantizer(const TensorQuantizer&) = delete;
  TensorQuantizer& operator=(const TensorQuantizer&) = delete;

  // Writes the tensor, and notes in the job what was lost. Throws: error, naming the tensor.
  void run(QuantizeJob& job, ShardWriter& out);

 private:
  void copy(const QuantizeJob& job, ShardWriter& out);
  void decode(const QuantizeJob& job, ShardWriter& out);
  void decode_into_stack(const QuantizeJob& job, ShardWriter& out);
  void quantize(QuantizeJob& job, ShardWriter& out);
  template <class Put>
  void encode(QuantizeJob& job, Put&& put);
  template <class Put>
  void encode_by_algorithm(QuantizeJob& job, Put&& put);
  void fit(const QuantizeJob& job, const Band& band);
  void observe(const QuantizeJob& job, const Band& band);

  Model model_;
  const Hessians* hessians_;  // of jobs with algorithms
  bool allow_nonfinite_;
  FloatReader<Model> floats_;
  typename Model::coder_type coder_;
  std::vector<std::byte> codes_;
  std::vector<float> back_;
  FinitePart finite_;
};

template <class Model>
void TensorQuantizer<Model>::run(QuantizeJob& job, ShardWriter& out) {
  in_memory(*job.source, [&] {
    if (job.layers) write_layers(model_, floats_, *job.source, *job.layers, hessians_, out);
    else if (job.stack) hinting_skip([&] { decode_into_stack(job, out); });
    else if (job.is_decoded) decode(job, out);
    else if (job.is_quantized()) naming(job.source->name, [&] { quantize(job, out); });
    else copy(job, out);
  });
}

template <class Model>
void TensorQuantizer<Model>::copy(const QuantizeJob& job, ShardWriter& out) {
  if (job.source->shares_parts()) return;
  for (const PartPlace& part : model_.places(*job.source)) {
    constexpr std::uint64_t piece = std::uint64_t{1} << 18;
    for (std::uint64_t at = 0; at < part.size(); at += piece)
      out.append(part.declaration.name,
                 model_.bytes(*part.in, part.begin + at,
                              static_cast<std::size_t>(std::min(piece, part.size() - at))));
  }
}

template <class Model>
void TensorQuantizer<Model>::decode(const QuantizeJob& job, ShardWriter& out) {
  for_each_piece(job.source->elements(), [&](std::size_t first, std::size_t count) {
    hinting_skip([&] {
      if (!job.decoded_as)
        return out.append(job.source->name, model_.piece(*job.source, first, count));
      floats_.for_each(*job.source, {first, count}, [&](std::size_t, std::span<const float> x) {
        codes_.resize(io::detail::bytes_of(*job.decoded_as, x.size()));
        io::from_float32(x, *job.decoded_as, codes_);
        out.append(job.source->name, codes_);
      });
    });
  });
}

// Writes a matrix to its place among those of other experts.
template <class Model>
void TensorQuantizer<Model>::decode_into_stack(const QuantizeJob& job, ShardWriter& out) {
  const StoredTensor& t = *job.source;
  const io::MatrixPlace& place = job.in_stack;
  const std::size_t size = bits(t.dtype) / 8, outputs = t.shape[0], inputs = t.shape[1];
  if (place.is_dense(inputs))
    return for_each_piece(t.elements(), [&](std::size_t first, std::size_t count) {
      out.place(job.stack->name, (place.first + first) * size, model_.piece(t, first, count));
    });
  back_.resize(outputs * inputs);
  tq::detail::transpose(floats_.all(t, {0, outputs * inputs}), outputs, inputs, std::span(back_));
  codes_.resize(outputs * size);
  for (std::size_t i = 0; i < inputs; ++i) {
    io::from_float32(std::span<const float>(back_).subspan(i * outputs, outputs), t.dtype, codes_);
    out.place(job.stack->name, (place.first + i * place.input_stride) * size, codes_);
  }
}

template <class Model>
void TensorQuantizer<Model>::quantize(QuantizeJob& job, ShardWriter& out) {
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

// Calls put(part, its next bytes). Values are looked at twice: for the ranges, and for the codes
// and what was lost. They are read twice where a band is too large to be held.
template <class Model>
template <class Put>
void TensorQuantizer<Model>::encode(QuantizeJob& job, Put&& put) {
  if (job.algorithm) return encode_by_algorithm(job, put);
  const std::vector<StoredPart>& parts = job.encoding->parts;
  Comparison<> lost;
  for (std::size_t i = 0; i < job.bands->size(); ++i) {
    const Band band = (*job.bands)[i];
    fit(job, band);
    for (const StoredPart& part : std::span(parts).subspan(1))
      put(part, part_bytes(coder_.parameters(), part));
    floats_.for_each(*job.source, band.stretch,
                     [&](std::size_t first, std::span<const float> values) {
                       codes_.resize(coder_.code_bytes(values.size()));
                       coder_.encode(first, values, codes_);
                       put(parts.front(), codes_);
                       back_.resize(values.size());
                       coder_.decode(first, codes_, back_);
                       io::round_to(back_, job.source->dtype);
                       finite_.take(values, back_);
                       lost.add(finite_.values(), finite_.back());
                       job.nonfinite.add(finite_.left_out());
                     });
  }
  job.metrics = lost.metrics();
}

// The same of a whole matrix, or of filters, by an algorithm, which may take the Hessian of its
// inputs.
template <class Model>
template <class Put>
void TensorQuantizer<Model>::encode_by_algorithm(QuantizeJob& job, Put&& put) {
  std::vector<float> values(static_cast<std::size_t>(job.source->elements()));
  floats_.for_each(*job.source, [&](std::size_t first, std::span<const float> some) {
    std::ranges::copy(some, values.begin() + static_cast<std::ptrdiff_t>(first));
  });
  using Types = CoderTypes<typename Model::coder_type>;
  const Shape shape = to_shape(job.source->shape);
  const ConstTensorView view(values.data(), shape);
  const QuantSpec& spec = job.encoding->spec;
  const WeightAlgorithm& by = *job.algorithm;
  EncodedWeights made =
      !by.needs_hessian() ? Types::encode_weights(view, spec, by)
      : shape.rank() == 2
          ? Types::encode_weights(view, spec, hessians_->get(by.inputs), by)
          : Types::encode_weights(
                view, spec,
                hessians_->get_groups(by.inputs, job.inputs / weights_of_output(job.source->shape)),
                by);
  job.weights = made.report;
  const std::vector<StoredPart>& parts = job.encoding->parts;
  for (const StoredPart& part : std::span(parts).subspan(1))
    put(part, part_bytes(made.tensor, part));
  put(parts.front(), made.tensor.codes.span());
  coder_.start(spec, shape);
  coder_.restore(stored_parameters<all_scales>(made.tensor));
  Comparison<> lost;
  for_each_piece(values.size(), [&](std::size_t first, std::size_t count) {
    back_.resize(count);
    coder_.decode(first,
                  std::as_const(made.tensor.codes)
                      .span()
                      .subspan(coder_.code_bytes(first), coder_.code_bytes(count)),
                  back_);
    io::round_to(back_, job.source->dtype);
    lost.add(std::span<const float>(values).subspan(first, count), back_);
  });
  job.metrics = lost.metrics();
}

// Makes the parameters of a band. An error of a band is told of the whole tensor.
template <class Model>
void TensorQuantizer<Model>::fit(const QuantizeJob& job, const Band& band) {
  try {
    observe(job, band);
    fit_weights(coder_, allow_nonfinite_);
  } catch (const error& e) {
    if (job.bands->size() == 1 || e.code() == errc::io_failure) throw;
    observe(job, {{0, static_cast<std::size_t>(job.source->elements())}, job.source->shape});
    fit_weights(coder_, allow_nonfinite_);
    throw;
  }
}

template <class Model>
void TensorQuantizer<Model>::observe(const QuantizeJob& job, const Band& band) {
  coder_.start(job.encoding->spec, to_shape(band.shape));
  floats_.for_each(
      *job.source, band.stretch,
      [&](std::size_t first, std::span<const float> values) { coder_.observe(first, values); });
}

}  // namespace tq::store::detail
