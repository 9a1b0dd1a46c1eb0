// SPDX-License-Identifier: MIT
#pragma once
// CheckpointCandidate: what looks like a quantized weight, and whether it can be read.

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/checkpoints/detail/checkpoint_shapes.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/name_index.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io::detail {

// "layer." of "layer.weight".
[[nodiscard]] inline std::string stem(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return std::string(dot == name.npos ? "" : name.substr(0, dot + 1));
}
// "weight" of "layer.weight".
[[nodiscard]] inline std::string_view leaf(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

[[nodiscard]] inline std::size_t count(const TensorInfo& t) {
  return static_cast<std::size_t>(*element_count(t.shape));
}
// The type of the decoded weight: that of scales that are floats of a model.
[[nodiscard]] constexpr DType float_type(DType scales) noexcept {
  return scales == DType::f16 || scales == DType::bf16 ? scales : DType::f32;
}
[[nodiscard]] inline std::string groups_text(const CheckpointWeight& w, std::size_t k) {
  if (w.group_size == 0) return ", groups of g_idx";
  return w.group_size == k ? ", per channel" : ", groups of " + std::to_string(w.group_size);
}

// The tensors of a file by name, and what else is known of it.
class CheckpointTensors {
 public:
  CheckpointTensors(std::span<const TensorInfo> tensors, const ReadTensor& read,
                    const CheckpointHints& hints)
      : tensors_(tensors), index_(tensors.size()), read_(read), hints_(hints) {
    for (std::size_t i = 0; i < tensors.size(); ++i) (void)index_.add_next(tensors_);
  }
  [[nodiscard]] std::span<const TensorInfo> all() const noexcept { return tensors_; }
  [[nodiscard]] const CheckpointHints& hints() const noexcept { return hints_; }
  [[nodiscard]] const TensorInfo* find(std::string_view name) const {
    const std::optional<std::size_t> place = index_.find(tensors_, name);
    return place ? &tensors_[*place] : nullptr;
  }
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Where in `all` an entry of it is.
  [[nodiscard]] std::size_t place_of(const TensorInfo& t) const {
    return static_cast<std::size_t>(&t - tensors_.data());
  }
  [[nodiscard]] Tensor read(const TensorInfo& t) const { return read_(t.name); }

 private:
  std::span<const TensorInfo> tensors_;
  NameIndex index_;
  const ReadTensor& read_;
  const CheckpointHints& hints_;
};

// A weight with the parts it has. What is asked of it and does not hold is a problem, for which it
// cannot be read.
class CheckpointCandidate {
 public:
  CheckpointWeight weight;

  explicit CheckpointCandidate(const CheckpointTensors& tensors) : tensors_(tensors) {}

  // The first problem, or empty.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }
  [[nodiscard]] const CheckpointHints& hints() const noexcept { return tensors_.hints(); }
  [[nodiscard]] Tensor read(const TensorInfo& t) const { return tensors_.read(t); }

  // Both are always false.
  bool problem(const std::string& text) {
    if (why_.empty()) why_ = text;
    return false;
  }
  bool misfit(const TensorInfo& t, const std::string& expected) {
    return problem(shown(t.name) + ": expected " + expected + ", got " +
                   std::string(to_string(t.dtype)) + " " + shape_text(t.shape));
  }

  [[nodiscard]] bool has(const char* role) const { return weight.parts.contains(role); }
  // A part, or an empty one after a problem.
  [[nodiscard]] const TensorInfo& part(const char* role) {
    const auto found = weight.parts.find(role);
    if (found != weight.parts.end()) return *tensors_.find(found->second);
    problem(std::string("expected a tensor of its ") + role + ", got none");
    return none_;
  }
  bool require(const char* role, DType dtype, const std::vector<std::size_t>& shape) {
    const TensorInfo& t = part(role);
    return (t.dtype == dtype && t.shape == shape) ||
           misfit(t, std::string(to_string(dtype)) + " " + shape_text(shape));
  }
  bool require_matrix(const TensorInfo& t, DType dtype) {
    return (t.dtype == dtype && t.shape.size() == 2 && count(t) != 0) ||
           misfit(t, std::string(to_string(dtype)) + " of two dimensions");
  }
  bool require_scale_type(const TensorInfo& t) {
    const DType d = t.dtype;
    const bool is_scale =
        d == DType::f32 || d == DType::f16 || d == DType::bf16 || d == DType::f8_e8m0;
    return is_scale || misfit(t, "scales of F32, F16, BF16 or F8_E8M0");
  }
  // Sets the group size of K inputs in so many groups.
  bool require_groups(std::size_t k, std::size_t groups) {
    const std::size_t said = hints().group_size;
    if (said != 0 && groups != 1 && (k + said - 1) / said != groups && !has("g_idx"))
      return problem("expected groups of " + std::to_string(said) +
                     ", as the configuration says, got " + std::to_string(groups) + " of " +
                     std::to_string(k) + " inputs");
    weight.group_size = checkpoint_group_size(k, groups, said);
    return weight.group_size != 0 || has("g_idx") ||
           problem("expected a group size, got " + std::to_string(groups) + " groups of " +
                   std::to_string(k) + " inputs, which may be of several");
  }

  // Asks for what a format has to be what the configuration says, if it does.
  bool require_group_size(std::size_t size) {
    const std::size_t said = hints().group_size;
    return said == 0 || said == size ||
           problem("expected groups of " + std::to_string(said) +
                   ", as the configuration says, got groups of " + std::to_string(size));
  }
  // Asks for scales as the configuration says they are laid out; the weight has its shape.
  bool require_strategy(const TensorInfo& scales) {
    const CheckpointHints& said = hints();
    std::string text;
    for (const std::string& strategy : said.strategies) {
      const bool has_blocks = strategy == "block";
      const std::vector<std::size_t> group(said.group_size != 0 ? 1 : 0, said.group_size);
      const std::vector<std::size_t>& block = has_blocks ? said.block : group;
      if (fits_strategy(strategy, weight.shape, scales.shape, block)) return true;
      const auto grid = strategy_grid(strategy, weight.shape, block);
      text +=
          (text.empty() ? "" : " or ") + shown(strategy) + (grid ? " " + shape_text(*grid) : "");
      if (!is_weight_strategy(strategy)) text += ", which weights do not have";
    }
    return text.empty() ||
           misfit(scales, "scales of strategy " + text + ", as the configuration says");
  }

 private:
  const CheckpointTensors& tensors_;
  TensorInfo none_;
  std::string why_;
};

}  // namespace tq::io::detail
