// SPDX-License-Identifier: MIT
#pragma once
// CheckpointSearch: the quantized weights found so far; a tensor is part of one at most.

#include <tq/checkpoints/detail/candidate.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io::detail {

class CheckpointSearch {
 public:
  explicit CheckpointSearch(const CheckpointTensors& in) : tensors(in), taken_(in.all().size()) {}

  const CheckpointTensors& tensors;

  [[nodiscard]] bool is_taken(const TensorInfo& t) const { return taken_[tensors.place_of(t)]; }

  using Parts = std::initializer_list<std::pair<const char*, std::string>>;  // role, name

  // A weight of that name whose parts are those that are there of `parts` (no name: none); `fill`
  // does the rest, or says why it cannot be read. All parts are taken either way.
  template <class Fill>
  void take(const std::string& name, CheckpointFormat format, Parts parts, Fill&& fill) {
    CheckpointCandidate found(tensors);
    CheckpointWeight& weight = found.weight;
    weight.name = name;
    weight.format = format;
    for (const auto& [role, part] : parts)
      if (const TensorInfo* const t = part.empty() ? nullptr : tensors.find(part);
          t != nullptr && !is_taken(*t)) {
        weight.parts.emplace(role, part);
        taken_[tensors.place_of(*t)] = true;
      }
    fill(found);
    const bool is_part =
        std::ranges::any_of(weight.parts, [&](const auto& p) { return p.second == name; });
    if (!is_part && tensors.contains(name))
      found.problem("expected it in its parts only, got a tensor of that name as well");
    if (!storage_bytes(weight.dtype, weight.shape) || weight.shape.size() > std::size_t{max_rank})
      found.problem("expected a shape that memory can hold, got " + shape_text(weight.shape));
    if (found.why().empty()) out_.weights.push_back(std::move(weight));
    else leave_unreadable(found);
    leave_activations(stem(name));
  }

  // Tensors whose names only parts have, of no weight here: it may be in another file.
  void leave_rest(bool (*is_named_as_part)(std::string_view)) {
    for (const TensorInfo& t : tensors.all())
      if (!is_taken(t) && is_named_as_part(t.name))
        out_.left_alone.emplace(
            t.name, LeftAlone{"named as a part of a quantized weight that is not here", false});
  }

  [[nodiscard]] QuantizedCheckpoint result() && { return std::move(out_); }

 private:
  void leave_unreadable(const CheckpointCandidate& found) {
    for (const auto& [role, part] : found.weight.parts)
      out_.left_alone.insert_or_assign(
          part, LeftAlone{"part of the quantized weight " + shown(found.weight.name) +
                              ", which cannot be read: " + found.why(),
                          true});
  }
  void leave_activations(const std::string& base) {
    for (const char* beside : {"input_scale", "output_scale", "scale_input", "input_zero_point",
                               "input_global_scale", "k_scale", "v_scale", "q_scale"})
      if (tensors.contains(base + beside))
        out_.left_alone.emplace(base + beside, LeftAlone{"scales of activations", false});
  }

  std::vector<bool> taken_;
  QuantizedCheckpoint out_;
};

}  // namespace tq::io::detail
