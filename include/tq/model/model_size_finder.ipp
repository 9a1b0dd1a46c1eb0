// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/model_size_finder.hpp.

#include <tq/model/detail/head_names.hpp>
#include <tq/model/detail/kind_names.hpp>
#include <tq/model/model_size_finder.hpp>
#include <tq/model/weight_axes.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace tq {

TQ_API void ModelSizeFinder::add(std::string_view name, std::span<const std::size_t> extents) {
  const detail::NameParts parts(name);
  if (extents.size() == 1) take_norm(parts, extents[0]);
  if (extents.size() < 2) return;
  if (parts.is_of_experts()) take_experts(name, parts, extents);
  if (extents.size() != 2) return;
  if (detail::router_name(parts) == detail::RouterName::sure) found_.widths.insert(extents[1]);
  if (!detail::names_embedding(parts) || detail::names_position(parts)) return;
  if (extents[0] <= extents[1]) return;  // a table of types, or of classes
  found_.vocabularies.insert(extents[0]);
  found_.widths.insert(extents[1]);
}

TQ_API ModelSizes ModelSizeFinder::sizes(ModelSizes known) const {
  const auto complete = [](std::set<std::size_t>& to, const std::set<std::size_t>& from) {
    if (to.empty()) to = from;
  };
  complete(known.vocabularies, found_.vocabularies);
  complete(known.experts, found_.experts);
  if (most_ > 0) known.experts.insert(most_);
  complete(known.widths, found_.widths);
  for (const auto& [name, extents] : stacks_)
    if (detail::stack_order(detail::NameParts(name), extents, known) ==
        detail::StackOrder::inputs_first)
      known.stacks_have_inputs_first = true;
  return known;
}

TQ_API void ModelSizeFinder::take_norm(const detail::NameParts& parts, std::size_t extent) {
  constexpr std::array<std::string_view, 4> of_layers{"input_layernorm", "post_attention_layernorm",
                                                      "attention_norm", "ffn_norm"};
  if (detail::is_one_of(parts.last(), of_layers)) found_.widths.insert(extent);
}

TQ_API void ModelSizeFinder::take_experts(std::string_view name, const detail::NameParts& parts,
                                          std::span<const std::size_t> extents) {
  const std::vector<std::string>& all = parts.all();
  for (std::size_t i = 0; i + 1 < all.size(); ++i)
    if (all[i] == "experts" && detail::is_number(all[i + 1]) && all[i + 1].size() < 6)
      most_ = std::max<std::size_t>(most_, std::stoul(all[i + 1]) + 1);
  if (extents.size() < 3) return;
  found_.experts.insert(extents[extents.size() - 3]);
  stacks_.emplace_back(std::string(name), std::vector<std::size_t>(extents.begin(), extents.end()));
}

}  // namespace tq
