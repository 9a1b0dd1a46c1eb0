// SPDX-License-Identifier: MIT
#pragma once
// NVFP4 weights: codes, scales of blocks of 16, and a scale of the tensor.

#include <tq/checkpoints/detail/search.hpp>
#include <tq/core/detail/sizes.hpp>

#include <cstddef>
#include <vector>

namespace tq::io::detail {

// Of a weight whose scale of the tensor has that role.
inline void fill_nvfp4(CheckpointCandidate& found, const char* role) {
  CheckpointWeight& w = found.weight;
  const TensorInfo &codes = found.part("weight"), &ts = found.part(role);
  if (codes.dtype != DType::u8 || codes.shape.empty())
    return void(found.misfit(codes, "U8 of packed codes"));
  w.shape = codes.shape;
  w.shape.back() = tq::detail::product_or_most(w.shape.back(), 2);
  std::vector<std::size_t> grid = w.shape;
  grid.back() = tq::detail::units_for(grid.back(), 16);
  if (found.require("scales", DType::f8_e4m3, grid)) found.require_strategy(found.part("scales"));
  found.require_group_size(16);
  if (ts.dtype != DType::f32 || count(ts) != 1) found.misfit(ts, "one F32");
  w.bits = 4;
  w.group_size = 16;
  w.scheme = "nvfp4";
}

// As ModelOpt stores them.
inline bool take_modelopt_nvfp4(CheckpointSearch& search, const TensorInfo& t) {
  if (t.dtype != DType::u8 || !search.tensors.contains(t.name + "_scale_2")) return false;
  search.take(
      t.name, CheckpointFormat::nvfp4,
      {{"weight", t.name}, {"scales", t.name + "_scale"}, {"tensor scale", t.name + "_scale_2"}},
      [](CheckpointCandidate& found) { fill_nvfp4(found, "tensor scale"); });
  return true;
}

}  // namespace tq::io::detail
