// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/measure_importance.hpp.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/ptq/mean_squares.hpp>
#include <tq/store/detail/activation_batches.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/measure_importance.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace tq {

namespace store::detail {

// The weight whose inputs have a name.
// The weight whose inputs have a name.
struct ImportancePlace {
  std::string weight;
  std::size_t expert = 0;
  bool is_in_mapping = true;
};

TQ_API ImportancePlace importance_place(const GgufMapping& mapping, const std::string& name) {
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
TQ_API void place_importance(ImportanceSums::Weight& weight, std::size_t matrix,
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

TQ_API MeasuredImportance measure_importance(const std::vector<std::string>& data,
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
