// SPDX-License-Identifier: MIT
#pragma once
// Weights that compressed-tensors packs: integers in words of 32 bits, and NVFP4.

#include <tq/checkpoints/detail/search.hpp>
#include <tq/checkpoints/nvfp4.hpp>
#include <tq/core/detail/sizes.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tq::io::detail {

// The second of the two extents in weight_shape, of which the first are the rows; 0 after a
// problem.
[[nodiscard]] inline std::size_t packed_inputs(CheckpointCandidate& found, const TensorInfo& shape,
                                               std::size_t rows) {
  if (shape.name.empty()) return 0;
  std::vector<std::int64_t> extents;
  if (shape.dtype == DType::i64) extents = values<std::int64_t>(found.read(shape));
  if (shape.dtype == DType::i32)
    for (const std::int32_t e : values<std::int32_t>(found.read(shape))) extents.push_back(e);
  if (extents.size() != 2) {
    found.misfit(shape, "two extents of I64 or I32");
    return 0;
  }
  if (extents[0] == static_cast<std::int64_t>(rows) && extents[1] > 0)
    return static_cast<std::size_t>(extents[1]);
  found.problem(shown(shape.name) + ": expected a weight of " + std::to_string(rows) +
                " rows, got [" + std::to_string(extents[0]) + ", " + std::to_string(extents[1]) +
                "]");
  return 0;
}

inline void fill_pack_quantized(CheckpointCandidate& found) {
  CheckpointWeight& w = found.weight;
  const TensorInfo &t = found.part("weight"), &s = found.part("scales"),
                   &shape = found.part("shape");
  if (!found.require_matrix(t, DType::i32) || !found.require_scale_type(s)) return;
  const std::size_t n = t.shape[0], k = packed_inputs(found, shape, n);
  if (k == 0) return;
  const auto words = [](std::size_t fields, std::size_t width) {
    return tq::detail::units_for(tq::detail::product_or_most(fields, width), 32);
  };
  std::vector<std::size_t> widths;
  for (std::size_t b = 1; b <= 8; ++b)
    if (words(k, b) == t.shape[1]) widths.push_back(b);
  if (widths.size() != 1)
    return void(found.misfit(t, "words of codes of 1 to 8 bits for rows of " + std::to_string(k)));
  w.shape = {n, k};
  w.bits = static_cast<int>(widths[0]);
  if (const std::set<std::size_t>& said = found.hints().widths;
      !said.empty() && !said.contains(widths[0])) {
    std::string text;
    for (const std::size_t b : said) text += (text.empty() ? "" : " or ") + std::to_string(b);
    return void(
        found.misfit(t, "codes of " + text + " bits without gaps, as config.json says num_bits"));
  }
  if (s.shape.size() != 2 || s.shape[0] != n || s.shape[1] == 0)
    return void(found.misfit(s, "scales of [" + std::to_string(n) + ", groups]"));
  found.require_strategy(s);
  found.require_groups(k, s.shape[1]);
  if (found.has("zero points")) {
    if (found.part("zero points").dtype == DType::i8)
      found.require("zero points", DType::i8, s.shape);
    else found.require("zero points", DType::i32, {words(n, widths[0]), s.shape[1]});
  }
  if (found.has("g_idx")) found.require("g_idx", DType::i32, {k});
  w.dtype = float_type(s.dtype);
  w.scheme = "compressed-tensors int" + std::to_string(w.bits) + groups_text(w, k);
}

inline bool take_compressed_tensors(CheckpointSearch& search, const TensorInfo& t) {
  if (leaf(t.name) != "weight_packed") return false;
  const std::string base = stem(t.name);
  const bool is_nvfp4 = t.dtype == DType::u8;
  search.take(base + "weight",
              is_nvfp4 ? CheckpointFormat::nvfp4 : CheckpointFormat::compressed_tensors,
              {{"weight", t.name},
               {"scales", base + "weight_scale"},
               {"shape", base + "weight_shape"},
               {"zero points", base + "weight_zero_point"},
               {"g_idx", base + "weight_g_idx"},
               {"divisor", base + "weight_global_scale"}},
              [&](CheckpointCandidate& found) {
                if (is_nvfp4) fill_nvfp4(found, "divisor");
                else fill_pack_quantized(found);
              });
  return true;
}

}  // namespace tq::io::detail
