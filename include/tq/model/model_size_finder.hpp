// SPDX-License-Identifier: MIT
#pragma once
// ModelSizeFinder: the sizes of a model by the names and shapes of its tensors.

#include <tq/model/detail/head_names.hpp>
#include <tq/model/detail/kind_names.hpp>
#include <tq/model/detail/name_parts.hpp>
#include <tq/model/model_sizes.hpp>
#include <tq/model/weight_axes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

/// Finds sizes that no configuration gives: the vocabulary in the table of words, experts in their
/// numbers and stacks, the width of the model beside both.
class ModelSizeFinder {
 public:
  /// Takes a tensor of the model into account.
  void add(std::string_view name, std::span<const std::size_t> extents) {
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

  /// `known`, with the sizes of the tensors where it has none.
  [[nodiscard]] ModelSizes sizes(ModelSizes known = {}) const {
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

 private:
  void take_norm(const detail::NameParts& parts, std::size_t extent) {
    constexpr std::array<std::string_view, 4> of_layers{
        "input_layernorm", "post_attention_layernorm", "attention_norm", "ffn_norm"};
    if (detail::is_one_of(parts.last(), of_layers)) found_.widths.insert(extent);
  }
  void take_experts(std::string_view name, const detail::NameParts& parts,
                    std::span<const std::size_t> extents) {
    const std::vector<std::string>& all = parts.all();
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
      if (all[i] == "experts" && detail::is_number(all[i + 1]) && all[i + 1].size() < 6)
        most_ = std::max<std::size_t>(most_, std::stoul(all[i + 1]) + 1);
    if (extents.size() < 3) return;
    found_.experts.insert(extents[extents.size() - 3]);
    stacks_.emplace_back(std::string(name),
                         std::vector<std::size_t>(extents.begin(), extents.end()));
  }

  ModelSizes found_;
  std::size_t most_ = 0;  // experts by their numbers
  std::vector<std::pair<std::string, std::vector<std::size_t>>> stacks_;
};

}  // namespace tq
