// SPDX-License-Identifier: MIT
#pragma once
// measure_importance: the importance matrix of a model from the activations of its layers.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/ptq/mean_squares.hpp>
#include <tq/store/detail/activation_batches.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/gguf_mapping.hpp>
#include <tq/store/importance_sums.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

/// The importance of the inputs of weights, and the activations that it was made of.
struct MeasuredImportance {
  /// One of the names of activations.
  struct Layer {
    std::string name;            ///< of the activations
    std::string weight;          ///< in a GGUF file
    std::size_t inputs = 0;      ///< of a token
    std::uint64_t tokens = 0;    ///< that were added
    std::uint64_t left_out = 0;  ///< tokens with NaN or infinities
    bool is_in_mapping = true;   ///< false for a name that the mapping does not have
  };
  ImportanceSums sums{};
  std::vector<Layer> layers{};                 ///< by the first of their batches
  std::vector<std::filesystem::path> files{};  ///< that were read
};

/// The importance of inputs from activations [..., inputs] in .npy, .npz and .safetensors files,
/// and in folders of them: tensors of one name are batches of a layer, as `store::batch_of` names
/// them. Names are those of weights or modules, in GGUF files or in the models of a mapping, whose
/// experts are stacked; other names are kept, and get the ending ".weight". Sums are exact before
/// they are rounded to double. Throws: `errc::no_data`; `errc::bad_argument` for two names of one
/// weight, and for experts of number 4096 and above; `errc::shape_mismatch` for experts of other
/// inputs; `errc::malformed`; `errc::io_failure`.
[[nodiscard]] inline MeasuredImportance measure_importance(
    const std::vector<std::string>& data, const GgufMapping& mapping = gguf_llama_mapping());

namespace store::detail {

// The weight whose inputs have a name.
struct ImportancePlace {
  std::string weight;
  std::size_t expert = 0;
  bool is_in_mapping = true;
};
[[nodiscard]] inline ImportancePlace importance_place(const GgufMapping& mapping,
                                                      const std::string& name) {
  constexpr std::string_view ending = ".weight";
  const std::string weight = name.ends_with(ending) ? name : name + std::string(ending);
  for (const GgufNameRule& rule : mapping.names)
    if (const auto numbers = match_gguf_name(rule.from, weight)) {
      const std::size_t expert = numbers->expert.empty() ? 0 : std::stoul(numbers->expert);
      return {with_gguf_numbers(rule.to, *numbers), expert};
    }
  const bool is_known = std::ranges::any_of(mapping.names, [&](const GgufNameRule& rule) {
    return match_gguf_name(rule.to, weight).has_value();
  });
  return {weight, 0, is_known};
}

// Adds the sums of a matrix to those of its weight.
inline void place_importance(ImportanceSums::Weight& weight, std::size_t matrix,
                             const MeanSquares& squares) {
  const std::size_t n = squares.inputs();
  if (!weight.counts.empty() && weight.sums.size() != weight.counts.size() * n)
    tq::detail::raise_expected(
        errc::shape_mismatch, "",
        {weight.sums.size() / weight.counts.size(), " inputs, as other experts have"}, {n});
  if (matrix >= weight.counts.size()) {
    weight.counts.resize(matrix + 1);
    weight.sums.resize((matrix + 1) * n);
  }
  weight.counts[matrix] = squares.tokens();
  for (std::size_t i = 0; i < n; ++i) weight.sums[matrix * n + i] = squares.sum(i);
}

}  // namespace store::detail

inline MeasuredImportance measure_importance(const std::vector<std::string>& data,
                                             const GgufMapping& mapping) {
  constexpr std::size_t most_experts = 4096;
  const store::detail::ActivationBatches batches(data);
  MeasuredImportance out;
  out.files = batches.files();
  out.sums.datasets = data;
  std::map<std::pair<std::string, std::size_t>, std::string> taken;
  for (const std::string& name : batches.names()) {
    const auto place = store::detail::importance_place(mapping, name);
    const auto [found, is_new] = taken.try_emplace({place.weight, place.expert}, name);
    if (!is_new)
      detail::raise_expected(errc::bad_argument, "tq::measure_importance",
                             {"activations of ", io::shown(place.weight), " under one name"},
                             {io::shown(found->second), " and ", io::shown(name)});
    if (place.expert >= most_experts)
      detail::raise_text(errc::bad_argument, {"tq::measure_importance: ", io::shown(name),
                                              ": expected an expert below ", most_experts});
    MeanSquares squares(batches.inputs(name));
    batches.for_each_piece(name, [&](const ConstTensorView& x) { squares.add(x); });
    store::naming(name, [&] {
      store::detail::place_importance(out.sums.weights[place.weight], place.expert, squares);
    });
    out.layers.push_back({name, place.weight, squares.inputs(), squares.tokens(),
                          squares.left_out(), place.is_in_mapping});
  }
  return out;
}

}  // namespace tq
