// SPDX-License-Identifier: MIT
#pragma once
// CheckpointSearch: the quantized weights found so far; a tensor is part of one at most.

#include <tq/checkpoints/checkpoint_candidate.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/checkpoints/detail/file_tensors.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/failure.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

/// The tensors of a file, and the quantized weights found among them so far.
class CheckpointSearch {
 public:
  explicit CheckpointSearch(const detail::FileTensors& in)
      : tensors_(in), taken_(in.all().size()) {}

  /// A tensor of the file, or null.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const { return tensors_.find(name); }
  [[nodiscard]] bool contains(std::string_view name) const { return tensors_.contains(name); }
  /// Whether a tensor of the file is part of a weight that was found.
  [[nodiscard]] bool is_taken(const TensorInfo& t) const { return taken_[tensors_.place_of(t)]; }

  using Parts = std::initializer_list<std::pair<const char*, std::string>>;  ///< role, name

  /// Takes a weight of that name and format, whose parts are those of `parts` that the file has
  /// (an empty name: none). `fill(candidate)` says the rest of it, or why it cannot be read. Its
  /// parts are taken either way.
  template <class Fill>
  void take(const std::string& name, std::string_view format, Parts parts, Fill&& fill) {
    CheckpointCandidate found(tensors_);
    begin(found, name, format, parts);
    CheckpointWeight& weight = found.weight;
    fill(found);
    const bool is_part =
        std::ranges::any_of(weight.parts, [&](const auto& p) { return p.second == name; });
    if (!is_part && tensors_.contains(name))
      found.problem("expected it in its parts only, got a tensor of that name as well");
    if (!storage_bytes(weight.dtype, weight.shape) || weight.shape.size() > std::size_t{max_rank})
      found.problem("expected a shape that memory can hold, got " + shape_text(weight.shape));
    if (found.why().empty()) out_.weights.push_back(std::move(weight));
    else leave_unreadable(found);
    leave_activations(detail::stem(name));
  }

  /// The same of a stack of weights with these names, all in the same parts. `name`: for messages.
  template <class Fill>
  void take_stack(const std::string& name, const std::vector<std::string>& names,
                  std::string_view format, Parts parts, Fill&& fill) {
    CheckpointCandidate found(tensors_);
    begin(found, name, format, parts);
    CheckpointWeight& weight = found.weight;
    weight.experts = names.size();
    fill(found);
    for (const std::string& each : names)
      if (tensors_.contains(each))
        found.problem("expected it in the stack only, got a tensor " + detail::shown(each));
    if (!storage_bytes(weight.dtype, weight.shape))
      found.problem("expected a shape that memory can hold, got " + shape_text(weight.shape));
    if (!found.why().empty()) return leave_unreadable(found);
    for (std::size_t e = 0; e < names.size(); ++e) {
      weight.name = names[e];
      weight.expert = e;
      out_.weights.push_back(weight);
    }
  }

  /// Leaves tensors alone that have the name of a part and belong to no weight here: the weight
  /// may be in another file.
  void leave_rest(bool (*is_named_as_part)(std::string_view)) {
    for (const TensorInfo& t : tensors_.all())
      if (!is_taken(t) && is_named_as_part(t.name))
        out_.left_alone.emplace(
            t.name, LeftAlone{"named as a part of a quantized weight that is not here", false});
  }

  /// All that was found.
  [[nodiscard]] QuantizedCheckpoint result() && { return std::move(out_); }

 private:
  void begin(CheckpointCandidate& found, const std::string& name, std::string_view format,
             Parts parts) {
    found.weight.name = name;
    found.weight.format = format;
    for (const auto& [role, part] : parts)
      if (const TensorInfo* const t = part.empty() ? nullptr : tensors_.find(part);
          t != nullptr && !is_taken(*t)) {
        found.weight.parts.emplace(role, part);
        taken_[tensors_.place_of(*t)] = true;
      }
  }
  void leave_unreadable(const CheckpointCandidate& found) {
    for (const auto& [role, part] : found.weight.parts)
      out_.left_alone.insert_or_assign(
          part, LeftAlone{"part of the quantized weight " + detail::shown(found.weight.name) +
                              ", which cannot be read: " + found.why(),
                          true});
  }
  void leave_activations(const std::string& base) {
    for (const char* beside : {"input_scale", "output_scale", "scale_input", "input_zero_point",
                               "input_global_scale", "k_scale", "v_scale", "q_scale"})
      if (tensors_.contains(base + beside))
        out_.left_alone.emplace(base + beside, LeftAlone{"scales of activations", false, true});
  }

  const detail::FileTensors& tensors_;
  std::vector<bool> taken_;
  QuantizedCheckpoint out_;
};

}  // namespace tq::io
