// SPDX-License-Identifier: MIT
#pragma once
// Weights of float8 and int8 with scales beside them: DeepSeek, compressed-tensors, ModelOpt,
// ComfyUI.

#include <tq/checkpoints/detail/search.hpp>
#include <tq/core/detail/sizes.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tq::io::detail {

// MXFP8 as compressed-tensors and ModelOpt store it: the scales of 32 inputs are bytes of E8M0.
inline void fill_mxfp8(CheckpointCandidate& found, const TensorInfo& t, const TensorInfo& s) {
  CheckpointWeight& w = found.weight;
  std::vector<std::size_t> grid = t.shape;
  if (!grid.empty()) grid.back() = tq::detail::units_for(grid.back(), 32);
  if (grid.empty() || s.shape != grid)
    return void(found.misfit(
        s, "scales of F32, F16, BF16 or F8_E8M0, or U8 " + shape_text(grid) + " of MXFP8"));
  found.require_group_size(32);
  found.require_strategy(s);
  w.block.assign(t.shape.size(), 1);
  w.block.back() = 32;
  w.scheme = std::string(dtype_row(t.dtype).element) + " with scales, MXFP8";
}

inline bool take_scaled_float8(CheckpointSearch& search, const TensorInfo& t) {
  const bool is_float8 = t.dtype == DType::f8_e4m3 || t.dtype == DType::f8_e5m2 ||
                         t.dtype == DType::f8_e4m3fnuz || t.dtype == DType::f8_e5m2fnuz;
  if (!is_float8) return false;
  const std::string base = stem(t.name);
  std::vector<std::string> names{t.name + "_scale_inv", t.name + "_scale"}, scales;
  if (leaf(t.name) == "weight") names.insert(names.end(), {base + "scale_weight", base + "scale"});
  for (const std::string& name : names)
    if (search.tensors.contains(name)) scales.push_back(name);
  if (scales.empty()) return false;  // a tensor of floats
  const bool is_comfy = scales.front() == base + "scale_weight";
  const auto fill = [&](CheckpointCandidate& found) {
    if (scales.size() > 1)
      found.problem("expected scales of one name, got " + shown(scales[0]) + " and " +
                    shown(scales[1]));
    CheckpointWeight& w = found.weight;
    w.shape = t.shape;
    const TensorInfo& s = found.part("scales");
    if (s.dtype == DType::u8) return fill_mxfp8(found, t, s);
    if (!found.require_scale_type(s)) return;
    if (!found.require_strategy(s)) return;
    std::vector<std::size_t> said = found.hints().block;
    if (const std::size_t size = found.hints().group_size; said.empty() && size != 0) said = {size};
    const auto block = checkpoint_blocks(t.shape, s.shape, said);
    if (!block)
      return void(found.misfit(
          s, "scales of " + shape_text(t.shape) + ": one, one per row, or one for each block of " +
                 (said.empty() ? "128 (or of another power of two that divides the extent)"
                               : shape_text(said) + ", as the configuration says")));
    w.block = *block;
    w.dtype = float_type(s.dtype);
    w.scheme = std::string(dtype_row(t.dtype).element) + " with scales, " +
               (count(s) == 1 ? "per tensor" : "blocks of " + shape_text(w.block));
  };
  search.take(t.name, CheckpointFormat::scaled_float8,
              {{"weight", t.name},
               {"scales", scales.front()},
               {"other scales", scales.size() > 1 ? scales[1] : ""},
               {"marker", is_comfy ? "scaled_fp8" : ""}},
              fill);
  return true;
}

inline void fill_int8_scaled(CheckpointCandidate& found) {
  CheckpointWeight& w = found.weight;
  const TensorInfo &t = found.part("weight"), &s = found.part("scales");
  w.shape = t.shape;
  if (!found.require_matrix(t, DType::i8) || !found.require_scale_type(s)) return;
  const std::size_t n = t.shape[0], k = t.shape[1];
  const bool per_row = s.shape == std::vector<std::size_t>{n};
  if (count(s) != 1 && !per_row && (s.shape.size() != 2 || s.shape[0] != n))
    return void(found.misfit(s, "one scale, " + shape_text(std::vector<std::size_t>{n, 1}) +
                                    ", or one for each group of a row"));
  found.require_strategy(s);
  found.require_groups(k, count(s) == 1 || per_row ? 1 : s.shape[1]);
  if (found.has("zero points")) found.require("zero points", DType::i8, s.shape);
  w.dtype = float_type(s.dtype);
  w.scheme = "int8 with scales" + (count(s) == 1 ? std::string(", per tensor") : groups_text(w, k));
}

inline bool take_int8_scaled(CheckpointSearch& search, const TensorInfo& t) {
  if (t.dtype != DType::i8 || !search.tensors.contains(t.name + "_scale")) return false;
  search.take(
      t.name, CheckpointFormat::int8_scaled,
      {{"weight", t.name}, {"scales", t.name + "_scale"}, {"zero points", t.name + "_zero_point"}},
      fill_int8_scaled);
  return true;
}

}  // namespace tq::io::detail
