// SPDX-License-Identifier: MIT
#pragma once
// The steps of measure_checkpoint.

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/load_checkpoint.hpp>
#include <tq/checkpoints/quantized_checkpoint.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/select/precision_model.hpp>
#include <tq/store/checkpoint_measurement.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/checkpoint_folder.hpp>
#include <tq/store/detail/checkpoint_plan.hpp>
#include <tq/store/detail/found_layers.hpp>
#include <tq/store/detail/layer_writer.hpp>
#include <tq/store/detail/left_files.hpp>
#include <tq/store/detail/named_format.hpp>
#include <tq/store/detail/quantize_target.hpp>
#include <tq/store/detail/set_magnitudes.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/in_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tq::store::detail {

// A scheme with the layers that fit it.
struct MeasuredFormat {
  std::string name;
  CheckpointPlan plan;
  io::CheckpointHints hints{};
  std::unordered_map<const StoredTensor*, const LayersJob*> jobs{};
};

// The values that parts of a layer mean, row-major. Throws: errc::malformed where the readers of tq
// find no weight in them.
template <Backend B = default_backend>
[[nodiscard]] std::vector<float> values_of_parts(const std::vector<io::Tensor>& parts,
                                                 const io::CheckpointHints& hints) {
  std::vector<io::TensorInfo> infos;
  for (const io::Tensor& t : parts) infos.push_back({t.name, t.dtype, t.shape});
  const io::ReadTensor read = [&](const std::string& name) {
    return *std::ranges::find(parts, name, &io::Tensor::name);
  };
  const io::QuantizedCheckpoint found = io::find_quantized(infos, read, hints);
  if (found.weights.size() != 1)
    tq::detail::raise_expected(
        errc::malformed, "", {"parts of a weight from the format"},
        {found.left_alone.empty() ? std::string("none") : found.left_alone.begin()->second.reason});
  return decode<B>(io::load_checkpoint<B>(found.weights.front(), read));
}

// sum d^2 / sum w^2 of a layer. Throws: errc::not_finite; as the format.
template <class Model>
[[nodiscard]] double layer_error(FloatReader<Model>& floats, const StoredTensor& tensor,
                                 const LayersJob& job, const WrittenLayer& layer,
                                 const io::CheckpointHints& hints, std::vector<float>& values) {
  double lost = 0, all = 0;
  for_each_band(floats, tensor, layer, job.band_rows(layer), values,
                [&](std::size_t rows, std::span<const float> x) {
                  require_finite(x);
                  io::LinearWeight band = layer.weight;
                  band.outputs = rows;
                  if (band.experts != 0) band.experts = 1;
                  const Shape shape =
                      band.experts == 0 ? Shape{rows, band.inputs} : Shape{1, rows, band.inputs};
                  const std::vector<float> back = values_of_parts(
                      job.format->quantize(band, ConstTensorView(x.data(), shape), nullptr), hints);
                  for (std::size_t i = 0; i < x.size(); ++i) {
                    const double value{x[i]}, d = value - double{back.at(i)};
                    lost += d * d;
                    all += value * value;
                  }
                });
  return all == 0 ? 0 : lost / all;
}

// The layers that fit a scheme; nothing where none does, with the reason in `why`.
template <class Model>
[[nodiscard]] std::optional<MeasuredFormat> measured_format(const Model& model,
                                                            const io::Json& config,
                                                            const NamedFormat& format,
                                                            const CheckpointOptions& options,
                                                            FoundLayers& found, std::string& why) {
  format.format->require_valid();
  try {
    MeasuredFormat out{format.name, plan_checkpoint(model.contents(), config, format.format,
                                                    options, false, found)};
    io::detail::take_hints(format.format->quantization_config(out.plan.model), out.hints);
    return out;
  } catch (const error& e) {
    if (e.code() != errc::unsupported) throw;
    why = e.what();
    return std::nullopt;
  }
}

// Collects the nodes and ties of a model.
class LayerNodes {
 public:
  explicit LayerNodes(CheckpointMeasurement& out) : out_(out) {}

  // `job`: that of the tensor in `scheme`.
  void add(const StoredTensor& tensor, const LayersJob& job, const WrittenLayer& layer,
           const std::string& scheme, double error) {
    const auto [at, is_new] = places_.emplace(layer.weight.module, out_.layers.nodes.size());
    if (is_new) add_float(tensor, layer, at->second);
    std::uint64_t bytes = 0, header = 0;
    for (const io::TensorDecl& part : job.format->declarations(layer.weight))
      bytes += *part.bytes();
    for (const io::TensorDecl& part : job.declarations(layer))
      header += io::SafetensorsWriter::least_bytes(part) - *part.bytes();
    out_.layers.nodes[at->second].candidates.push_back({scheme, bytes, error});
    out_.header_bytes[at->second].push_back(header);
  }
  void finish() {
    for (auto& [set, nodes] : sets_)
      if (nodes.size() > 1) out_.layers.ties.push_back(std::move(nodes));
  }

 private:
  // All layers of a tensor share its entry in a header, which the first of them has.
  void add_float(const StoredTensor& tensor, const WrittenLayer& layer, std::size_t place) {
    const std::uint64_t bytes =
        io::detail::bytes_of(tensor.dtype, static_cast<std::size_t>(layer.elements()));
    out_.layers.nodes.push_back(
        {layer.weight.module, layer.elements(), {{std::string(float_scheme), bytes, 0, 0}}});
    const io::TensorDecl whole{tensor.name, tensor.dtype, tensor.shape};
    const bool is_first = tensors_.insert(&tensor).second;
    out_.header_bytes.push_back(
        {is_first ? io::SafetensorsWriter::least_bytes(whole) - *whole.bytes() : 0});
    sets_[layer.set].push_back(place);
  }

  CheckpointMeasurement& out_;
  std::unordered_map<std::string, std::size_t> places_;
  std::unordered_set<const StoredTensor*> tensors_;
  std::map<std::string, std::vector<std::size_t>> sets_;
};

// Whether a tensor is, or holds, layers that fit a scheme.
[[nodiscard]] inline bool has_candidates(const std::vector<MeasuredFormat>& formats,
                                         const StoredTensor& tensor) {
  return std::ranges::any_of(formats,
                             [&](const MeasuredFormat& f) { return f.jobs.contains(&tensor); });
}

// Least bytes of headers without layers. A file of a model has one header or more.
[[nodiscard]] inline std::uint64_t least_other_headers(const ModelContents& model,
                                                       const std::vector<MeasuredFormat>& formats) {
  constexpr std::uint64_t most_padding = 7;
  std::uint64_t sum = 0;
  for (const OutputShard& shard : formats.front().plan.tensors.shards) {
    sum += io::SafetensorsWriter::file_bytes({}, shard.metadata()) - most_padding;
    for (const QuantizeJob& job : shard.jobs)
      if (!has_candidates(formats, *job.source))
        for (const io::TensorDecl& part : job.declarations(model))
          sum += io::SafetensorsWriter::least_bytes(part) - *part.bytes();
  }
  return sum;
}

// The modules that have no candidate, and the bytes of the tensors without one.
inline void add_rest(const ModelContents& model, const std::vector<MeasuredFormat>& formats,
                     CheckpointMeasurement& out) {
  const CheckpointPlan& plan = formats.front().plan;
  std::unordered_set<std::string> nodes;
  for (const PrecisionNode& n : out.layers.nodes) nodes.insert(n.name);
  for (const io::LeftModule& m : plan.left)
    if (!nodes.contains(m.module)) out.left.push_back(m);
  const std::unordered_set<std::string> dropped(plan.dropped.begin(), plan.dropped.end());
  for (const StoredTensor& t : model.tensors())
    if (!dropped.contains(t.name) && !has_candidates(formats, t))
      out.other_bytes += t.foreign ? t.plain_bytes() : t.bytes;
  out.other_header_bytes = least_other_headers(model, formats);
}

// The schemes that layers fit. Throws: errc::unsupported where no layer fits any.
template <class Model>
[[nodiscard]] std::vector<MeasuredFormat> measured_formats(const Model& model,
                                                           const std::vector<NamedFormat>& schemes,
                                                           const CheckpointOptions& options) {
  const std::filesystem::path folder = or_here(model.contents().files().front().parent_path());
  const io::Json config =
      io::parse_json(CheckpointFolder::read_config(folder), (folder / "config.json").string());
  std::vector<MeasuredFormat> formats;
  std::string why = "no scheme";
  FoundLayers found;
  for (const NamedFormat& scheme : schemes)
    if (auto fitting = measured_format(model, config, scheme, options, found, why))
      formats.push_back(*std::move(fitting));
  if (formats.empty()) raise(errc::unsupported, why);
  for (MeasuredFormat& f : formats)
    for (OutputShard& shard : f.plan.tensors.shards)
      for (QuantizeJob& job : shard.jobs)
        if (job.layers) f.jobs.emplace(job.source, job.layers.get());
  return formats;
}

template <class Model>
[[nodiscard]] TQ_API CheckpointMeasurement
measure_checkpoint(const std::filesystem::path& in, const std::vector<NamedFormat>& schemes,
                   const CheckpointOptions& options, LayerErrors errors) {
  if (options.algorithm != WeightAlgorithm{})
    tq::detail::raise_expected(errc::unsupported, "`algorithm`",
                               {"rtn, by which layers are measured"}, {options.algorithm.name});
  Model model(in);
  require_unquantized(model.contents(), in.string());
  std::vector<MeasuredFormat> formats = measured_formats(model, schemes, options);
  const bool is_measured = errors == LayerErrors::measured;
  for (MeasuredFormat& f : formats)
    if (is_measured && !f.jobs.empty() && f.jobs.begin()->second->format->needs_set_abs_max())
      set_magnitudes(model, f.plan, options.jobs, Team());
  CheckpointMeasurement out;
  LayerNodes nodes(out);
  FloatReader<Model> floats(model, false, Bands::most_held);
  std::vector<float> values;
  std::uint64_t done = 0, all = 0;
  for (const StoredTensor& t : model.tensors()) all += t.bytes;
  for (const StoredTensor& t : model.tensors()) {
    for (const MeasuredFormat& f : formats) {
      const auto job = f.jobs.find(&t);
      if (job == f.jobs.end()) continue;
      in_memory(t, [&] {
        for (const WrittenLayer& layer : job->second->layers) {
          const double error = !is_measured ? 0 : naming(layer.weight.module + ".weight", [&] {
            return layer_error(floats, t, *job->second, layer, f.hints, values);
          });
          nodes.add(t, *job->second, layer, f.name, error);
        }
      });
    }
    done += t.bytes;
    if (is_measured && options.progress) options.progress(done, all);
  }
  nodes.finish();
  add_rest(model.contents(), formats, out);
  return out;
}

}  // namespace tq::store::detail
