// SPDX-License-Identifier: MIT
#pragma once
// CheckpointCandidate: what looks like a quantized weight, and whether it can be read.

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/checkpoints/detail/checkpoint_shapes.hpp>
#include <tq/checkpoints/detail/file_tensors.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/files/failure.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

/// A weight that is being found, with the parts it has. A requirement that does not hold is a
/// problem, for which the weight cannot be read; the function that asked then returns false.
class CheckpointCandidate {
 public:
  CheckpointWeight weight;

  explicit CheckpointCandidate(const detail::FileTensors& tensors) : tensors_(tensors) {}

  /// The first problem, or empty.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }
  [[nodiscard]] const CheckpointHints& hints() const noexcept { return tensors_.hints(); }
  [[nodiscard]] Tensor read(const TensorInfo& t) const { return tensors_.read(t); }

  /// Notes a problem; false.
  bool problem(const std::string& text) {
    if (why_.empty()) why_ = text;
    return false;
  }
  /// Notes that a tensor is not as expected; false.
  bool misfit(const TensorInfo& t, const std::string& expected) {
    return problem(detail::shown(t.name) + ": expected " + expected + ", got " +
                   std::string(to_string(t.dtype)) + " " + shape_text(t.shape));
  }

  [[nodiscard]] bool has(const char* role) const { return weight.parts.contains(role); }
  /// A part, or an empty one after a problem.
  [[nodiscard]] const TensorInfo& part(const char* role) {
    const auto found = weight.parts.find(role);
    if (found != weight.parts.end()) return *tensors_.find(found->second);
    problem(std::string("expected a tensor of its ") + role + ", got none");
    return none_;
  }
  /// Asks for a part of that type and shape.
  bool require(const char* role, DType dtype, const std::vector<std::size_t>& shape) {
    const TensorInfo& t = part(role);
    return (t.dtype == dtype && t.shape == shape) ||
           misfit(t, std::string(to_string(dtype)) + " " + shape_text(shape));
  }
  /// Asks for two dimensions and at least one element.
  bool require_matrix(const TensorInfo& t, DType dtype) {
    return (t.dtype == dtype && t.shape.size() == 2 && detail::count(t) != 0) ||
           misfit(t, std::string(to_string(dtype)) + " of two dimensions");
  }
  /// Asks for a type that scales have.
  bool require_scale_type(const TensorInfo& t) {
    const DType d = t.dtype;
    const bool is_scale =
        d == DType::f32 || d == DType::f16 || d == DType::bf16 || d == DType::f8_e8m0;
    return is_scale || misfit(t, "scales of F32, F16, BF16 or F8_E8M0");
  }
  /// Sets the group size of K inputs in so many groups.
  bool require_groups(std::size_t k, std::size_t groups) {
    const std::size_t said = hints().group_size;
    if (said != 0 && groups != 1 && tq::detail::units_for(k, said) != groups && !has("g_idx"))
      return problem("expected groups of " + std::to_string(said) +
                     ", as the configuration says, got " + std::to_string(groups) + " of " +
                     std::to_string(k) + " inputs");
    weight.group_size = detail::checkpoint_group_size(k, groups, said);
    return weight.group_size != 0 || has("g_idx") ||
           problem("expected a group size, got " + std::to_string(groups) + " groups of " +
                   std::to_string(k) + " inputs, which may be of several");
  }

  /// Asks for groups of the one size that a format has, where the configuration says a size.
  bool require_group_size(std::size_t size) {
    const std::size_t said = hints().group_size;
    return said == 0 || said == size ||
           problem("expected groups of " + std::to_string(said) +
                   ", as the configuration says, got groups of " + std::to_string(size));
  }
  /// Asks for scales as the configuration says they are laid out. Precondition: the weight has its
  /// shape.
  bool require_strategy(const TensorInfo& scales) {
    const CheckpointHints& said = hints();
    std::string text;
    for (const std::string& strategy : said.strategies) {
      const bool has_blocks = strategy == "block";
      const std::vector<std::size_t> group(said.group_size != 0 ? 1 : 0, said.group_size);
      const std::vector<std::size_t>& block = has_blocks ? said.block : group;
      if (detail::fits_strategy(strategy, weight.shape, scales.shape, block)) return true;
      const auto grid = detail::strategy_grid(strategy, weight.shape, block);
      text += (text.empty() ? "" : " or ") + detail::shown(strategy) +
              (grid ? " " + shape_text(*grid) : "");
      if (!detail::is_weight_strategy(strategy)) text += ", which weights do not have";
    }
    return text.empty() ||
           misfit(scales, "scales of strategy " + text + ", as the configuration says");
  }

 private:
  const detail::FileTensors& tensors_;
  TensorInfo none_;
  std::string why_;
};

}  // namespace tq::io
