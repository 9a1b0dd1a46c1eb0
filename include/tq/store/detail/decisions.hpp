// SPDX-License-Identifier: MIT
#pragma once
// Decisions: what becomes of every tensor of a model that is quantized.

#include <tq/containers/safetensors_header.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/weight_axes.hpp>
#include <tq/ptq/detail/searched_scales.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/convert_options.hpp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/detail/chosen_algorithm.hpp>
#include <tq/store/detail/conv1d_model.hpp>
#include <tq/store/detail/output_shard.hpp>
#include <tq/store/detail/scheme_choice.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/name_filter.hpp>
#include <tq/store/stored_parts.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Decides what becomes of tensors one after the other.
class Decisions {
 public:
  Decisions(const SchemeSource& source, const ConvertOptions& options, const ModelContents& model)
      : options_(options),
        filter_(options.names),
        schemes_(source, options, model, filter_),
        conv1d_(model) {
    for (const io::OtherMember& other : model.others()) filter_.note(other.name);
  }

  // Nothing where the output cannot have the tensor.
  std::optional<QuantizeJob> decide(const StoredTensor& t) {
    const std::string& left_out = filter_.left_out(t.name);
    if (!io::is_tensor_name(t.name)) {
      if (left_out.empty())
        tq::detail::raise_text(
            errc::unsupported,
            {"tensor ", io::shown(t.name),
             ": expected a name that a safetensors file can have; `exclude` leaves it out"});
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
    // Weights of another program come here only where `requantize` asks for their values.
    if (!options_.all && !chosen.is_named && !t.foreign)
      job.copied = growth(t, job.encoding->layout);
    if (!job.copied.empty()) {
      job.encoding.reset();
      return job;
    }
    job.bands.emplace(t, *job.encoding);
    set_algorithm(job, std::move(chosen.algorithm));
    return job;
  }
  // True for a name that the options leave out.
  [[nodiscard]] bool leaves_out(const std::string& name) { return !filter_.left_out(name).empty(); }
  void require_matches() const { filter_.require_matches(); }
  [[nodiscard]] const std::vector<std::string>& unused() const { return schemes_.unused(); }

 private:
  // Gives a weight its algorithm, or the fallback.
  void set_algorithm(QuantizeJob& job, WeightAlgorithm algorithm) const {
    const StoredTensor& t = *job.source;
    std::string no_matrix;
    const bool has_inputs_first =
        t.axes != WeightAxes::outputs_first || conv1d_.has_inputs_first(t);
    const bool is_filters = t.kind == NodeKind::conv && t.shape.size() > 2;
    if ((t.shape.size() != 2 && !(is_filters && algorithm.needs_hessian())) || has_inputs_first)
      no_matrix = "expected a matrix [outputs, inputs] for algorithm " + algorithm.name + ", got " +
                  io::shape_text(t.shape) + (has_inputs_first ? " of inputs first" : "");
    ChosenAlgorithm chosen =
        chosen_algorithm(t.name, no_matrix, options_.hessians, std::move(algorithm), t.shape);
    if (chosen.algorithm && tq::detail::searches_scales(*chosen.algorithm))
      tq::detail::require_no_calibrator("tensor " + io::shown(t.name), job.encoding->spec);
    if (chosen.algorithm && chosen.algorithm->name == "hqq")
      tq::detail::require_float_offsets("tensor " + io::shown(t.name), job.encoding->spec);
    job.algorithm = std::move(chosen.algorithm);
    if (job.algorithm && job.algorithm->needs_hessian())
      job.inputs = naming(t.name, [&] { return options_.hessians->inputs(job.algorithm->inputs); });
    job.weights = std::move(chosen.fallback);
  }

  std::shared_ptr<const Encoding> encoding_for(const StoredTensor& t, const QuantSpec& spec) {
    try {
      return naming(t.name, [&] {
        auto& encoding = encodings_[{to_string(spec), t.shape}];
        if (encoding == nullptr) encoding = encoding_of(spec, t.shape);
        return encoding;
      });
    } catch (const error& e) {
      tq::detail::raise_text(e.code(), {e.what(), "; `exclude` it"});
    }
  }

  const ConvertOptions& options_;
  NameFilter filter_;
  SchemeChoice schemes_;
  Conv1dModel conv1d_;
  std::map<std::pair<std::string, std::vector<std::size_t>>, std::shared_ptr<const Encoding>>
      encodings_;  // by scheme and shape
};

}  // namespace tq::store::detail
