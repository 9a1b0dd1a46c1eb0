// SPDX-License-Identifier: MIT
#pragma once
// The steps of measure_gguf.

#include <tq/containers/gguf_file_bytes.hpp>
#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/error.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/select/precision_model.hpp>
#include <tq/store/detail/gguf_bands.hpp>
#include <tq/store/detail/gguf_bytes.hpp>
#include <tq/store/detail/gguf_decider.hpp>
#include <tq/store/detail/gguf_input.hpp>
#include <tq/store/detail/gguf_plan.hpp>
#include <tq/store/detail/in_order.hpp>
#include <tq/store/detail/progress.hpp>
#include <tq/store/detail/write_gguf.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/gguf_measurement.hpp>
#include <tq/store/gguf_mix.hpp>
#include <tq/store/gguf_options.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/name_filter.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// A weight, with the type that it keeps, and smaller types to choose from.
struct GgufChoice {
  GgufJob job;
  std::vector<layouts::gguf::Type> types;
};

// The tensors of a model: `kept` all of them as they stay, `choices` the weights.
struct GgufChoices {
  std::vector<io::GgufTensorDecl> kept{};
  std::vector<GgufChoice> choices{};
};

// Squared errors of a weight in each of its types, and the sums that they are parts of.
struct GgufLoss {
  std::vector<double> lost{};            // sum i d^2, with the importance i
  double weighted = 0.0, squares = 0.0;  // sum i w^2, sum w^2

  // sum i d^2 / sum i w^2
  [[nodiscard]] double relative(std::size_t type) const {
    return weighted == 0.0 ? 0.0 : lost[type] / weighted;
  }
};

[[nodiscard]] inline std::vector<layouts::gguf::Type> candidate_types(
    const std::vector<layouts::gguf::Type>& types) {
  using layouts::gguf::Type;
  if (types.empty())
    return {Type::q2_K, Type::q3_K, Type::q4_K, Type::q5_K, Type::q6_K, Type::q8_0, Type::iq4_xs};
  for (const Type type : types) {
    const std::string name(layouts::gguf::info_of(type).name);
    if (!is_gguf_target(type))
      tq::detail::raise_expected(errc::bad_argument, "tq::measure_gguf", {"types of weights"},
                                 {name});
    if (std::ranges::count(types, type) != 1)
      tq::detail::raise_expected(errc::bad_argument, "tq::measure_gguf", {"each type once"},
                                 {name, " twice"});
  }
  return types;
}

// The types that a weight gets for `types` and that take fewer bytes than `kept`, each once.
[[nodiscard]] inline std::vector<layouts::gguf::Type> smaller_types(
    const GgufJob& kept, const GgufDecider& decider,
    const std::vector<layouts::gguf::Type>& types) {
  std::vector<layouts::gguf::Type> out;
  for (const layouts::gguf::Type wanted : types) {
    const GgufJob job{kept.item, decider.fitting(wanted, kept.item->to), {}, {}};
    if (job.bytes() < kept.bytes() && std::ranges::find(out, job.type) == out.end())
      out.push_back(job.type);
  }
  return out;
}

[[nodiscard]] inline GgufChoices gguf_choices(const GgufInput& input, const GgufMix& mix,
                                              const std::vector<layouts::gguf::Type>& types,
                                              const ImportanceFile* importance,
                                              const GgufOptions& options) {
  const GgufDecider decider(mix, input.entries, {}, importance != nullptr);
  NameFilter names(options.names);
  GgufChoices out;
  for (const GgufItem& item : input.items) {
    GgufJob job{&item, layouts::gguf::Type::f32, {}, {}};
    const bool is_weight = is_gguf_weight(item, decider);
    job.type = kept_type(item, is_weight);
    if (!is_weight) names.note(item.to.name);
    if (is_weight && names.left_out(item.to.name).empty()) {
      require_quantizable(item, options.requantize);
      if (!is_gguf_target(job.type)) job.type = layouts::gguf::Type::f32;
      if (importance != nullptr) set_importance(job, *importance);
      out.choices.push_back({job, smaller_types(job, decider, types)});
    }
    out.kept.push_back({item.to.name, job.type, item.to.shape});
  }
  names.require_matches();
  return out;
}

// Adds f(j) times the importance of its column, over the elements j of rows.
template <class F>
[[nodiscard]] double weighted_sum(std::size_t count, std::span<const float> importance, F&& f) {
  double sum = 0.0;
  if (importance.empty()) {
    for (std::size_t i = 0; i < count; ++i) sum += f(i);
    return sum;
  }
  for (std::size_t row = 0; row < count; row += importance.size())
    for (std::size_t j = 0; j < importance.size(); ++j) sum += double{importance[j]} * f(row + j);
  return sum;
}

// Measures weights one after the other, in memory that is kept.
template <Backend B>
class GgufMeter {
 public:
  GgufMeter(const GgufInput& input, GgufMethod method) : bands_(input), method_(method) {}

  [[nodiscard]] GgufLoss measure(const GgufChoice& weight) {
    GgufLoss out{std::vector<double>(weight.types.size())};
    bands_.for_each(weight.job, [&](std::span<const float> x, std::span<const float> importance) {
      const auto square = [&](std::size_t i) { return double{x[i]} * double{x[i]}; };
      out.squares += weighted_sum(x.size(), {}, square);
      out.weighted += weighted_sum(x.size(), importance, square);
      for (std::size_t i = 0; i < weight.types.size(); ++i)
        out.lost[i] += lost(weight.types[i], x, importance);
    });
    return out;
  }

 private:
  [[nodiscard]] double lost(layouts::gguf::Type type, std::span<const float> x,
                            std::span<const float> importance) {
    blocks_.resize(gguf_band_bytes(type, x.size()));
    back_.resize(x.size());
    encode_gguf<B>(type, method_, x, blocks_, importance);
    decode_gguf<B>(type, blocks_, back_);
    return weighted_sum(x.size(), importance, [&](std::size_t i) {
      const double d = double{x[i]} - double{back_[i]};
      return d * d;
    });
  }

  GgufBands bands_;
  GgufMethod method_;
  std::vector<std::uint8_t> blocks_;
  std::vector<float> back_;
};

template <Backend B = default_backend>
[[nodiscard]] std::vector<GgufLoss> gguf_losses(const GgufInput& input,
                                                std::span<const GgufChoice> choices,
                                                const GgufOptions& options) {
  std::vector<GgufLoss> out(choices.size());
  std::uint64_t all = 0;
  for (const GgufChoice& c : choices) all += c.job.item->from_bytes;
  Progress progress(options.progress, all);
  const std::vector<std::uint64_t> costs(choices.size(), 0);  // a band is small
  run_in_order(options.jobs, costs, 0, [&] {
    return [&, meter = std::make_shared<GgufMeter<B>>(input, options.method)](std::size_t i) {
      naming(choices[i].job.item->to.name, [&] { out[i] = meter->measure(choices[i]); });
      progress.add(choices[i].job.item->from_bytes);
    };
  });
  return out;
}

// The weights with their errors, as parts of the squares of all weights.
inline void add_gguf_nodes(std::span<const GgufChoice> choices, std::span<const GgufLoss> losses,
                           std::uint32_t alignment, GgufMeasurement& out) {
  double squares = 0.0;
  for (const GgufLoss& loss : losses) squares += loss.squares;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const GgufJob& job = choices[i].job;
    const auto bytes = [&](layouts::gguf::Type type) {
      return io::detail::gguf_padded_bytes(type, job.item->to.shape, alignment);
    };
    const double share =
        squares == 0.0 ? 0.0 : static_cast<double>(choices.size()) * losses[i].squares / squares;
    PrecisionNode node{
        job.item->to.name, job.item->elements(), {{std::string(float_scheme), bytes(job.type), 0}}};
    for (std::size_t j = 0; j < choices[i].types.size(); ++j) {
      const layouts::gguf::TypeInfo& type = layouts::gguf::info_of(choices[i].types[j]);
      const double error = share * losses[i].relative(j);
      if (std::isfinite(error))  // float16 has no magnitudes above 65504
        node.candidates.push_back({std::string(type.name), bytes(type.type), error});
    }
    out.weights.nodes.push_back(std::move(node));
    out.kept.push_back(job.type);
    out.shares.push_back(share);
  }
}

// No errors, and nothing is read.
[[nodiscard]] inline std::vector<GgufLoss> no_losses(std::span<const GgufChoice> choices) {
  std::vector<GgufLoss> out;
  for (const GgufChoice& c : choices) out.push_back({std::vector<double>(c.types.size())});
  return out;
}

// Whether errors are measured, or stay 0 and no weight is read.
enum class GgufErrors { measured, none };

template <class Model>
[[nodiscard]] GgufMeasurement measure_gguf(const std::filesystem::path& in,
                                           const std::vector<layouts::gguf::Type>& types,
                                           const GgufOptions& options, GgufErrors errors) {
  const std::vector<layouts::gguf::Type> candidates = candidate_types(types);
  const GgufMix mix = gguf_mix("f32");  // for the lists that all mixes have
  require_gguf_options(in, options);
  const std::unique_ptr<GgufInput> input = gguf_input<Model>(in, options);
  const std::optional<ImportanceFile> read = importance_for(*input, options);
  const ImportanceFile* const importance = read ? &*read : nullptr;
  complete_entries(*input, mix, importance, options);
  const GgufChoices all = gguf_choices(*input, mix, candidates, importance, options);
  const std::vector<GgufLoss> losses = errors == GgufErrors::measured
                                           ? gguf_losses(*input, all.choices, options)
                                           : no_losses(all.choices);

  GgufMeasurement out;
  out.dropped = input->dropped;
  out.notes = input->notes;
  add_gguf_nodes(all.choices, losses, io::detail::gguf_alignment(input->entries), out);
  out.other_bytes = io::gguf_file_bytes(input->entries, all.kept);
  for (const PrecisionNode& node : out.weights.nodes)
    out.other_bytes -= node.candidates.front().bytes;
  return out;
}

}  // namespace tq::store::detail
