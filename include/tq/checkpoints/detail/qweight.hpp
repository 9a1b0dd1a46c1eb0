// SPDX-License-Identifier: MIT
#pragma once
// The shapes of qweight, qzeros and scales, which GPTQ and AWQ name alike.

#include <tq/checkpoints/checkpoint_candidate.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/core/detail/sizes.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tq::io::detail {

// AWQ packs qweight along the outputs, of which there are 8 to a word; GPTQ along the inputs.
[[nodiscard]] inline bool is_awq(const CheckpointSearch& search, const TensorInfo& qweight) {
  const TensorInfo* const scales = search.find(stem(qweight.name) + "scales");
  return scales != nullptr && qweight.shape.size() == 2 && scales->shape.size() == 2 &&
         scales->shape[1] % 8 == 0 && qweight.shape[1] == scales->shape[1] / 8;
}

inline void fill_qweight(CheckpointCandidate& found, std::string_view format, bool is_awq) {
  CheckpointWeight& w = found.weight;
  const TensorInfo &q = found.part("weight"), &s = found.part("scales"),
                   &z = found.part("zero points");
  if (!found.require_matrix(q, DType::i32) || !found.require_matrix(z, DType::i32) ||
      !found.require_scale_type(s))
    return;
  if (s.shape.size() != 2 || count(s) == 0)
    return void(found.misfit(s, "scales of [groups, outputs]"));
  const std::size_t groups = s.shape[0], n = s.shape[1];
  if (!is_awq && q.shape[1] != n)
    return void(found.misfit(q, std::to_string(n) + " columns (GPTQ) or an eighth of them (AWQ)"));
  const std::size_t bits = z.shape[1] * 32 / n;
  const bool is_width = bits == 4 || (!is_awq && (bits == 2 || bits == 3 || bits == 8));
  if (z.shape[0] != groups || z.shape[1] * 32 % n != 0 || !is_width)
    return void(found.misfit(z, "a row for each of " + std::to_string(groups) + " groups, of " +
                                    std::to_string(n) +
                                    " zero points of 4 bits (GPTQ: 2, 3, 4 or 8)"));
  if (!is_awq && q.shape[0] * 32 % bits != 0)
    return void(found.misfit(q, "whole words of codes of " + std::to_string(bits) + " bits"));
  const std::size_t k = is_awq ? q.shape[0] : q.shape[0] * 32 / bits;
  w.bits = static_cast<int>(bits);
  w.is_gptq_v2 = found.hints().is_gptq_v2;
  w.shape = {n, k};
  if (found.has("g_idx")) found.require("g_idx", DType::i32, {k});
  found.require_groups(k, groups);
  w.dtype = float_type(s.dtype);
  w.scheme = std::string(format) + " uint" + std::to_string(bits) + groups_text(w, k);
}

// Takes a weight by its qweight.
inline void take_qweight(CheckpointSearch& search, const TensorInfo& t, std::string_view format,
                         bool is_awq) {
  const std::string base = stem(t.name);
  search.take(base + "weight", format,
              {{"weight", t.name},
               {"zero points", base + "qzeros"},
               {"scales", base + "scales"},
               {"g_idx", base + "g_idx"}},
              [&](CheckpointCandidate& found) { fill_qweight(found, format, is_awq); });
}

}  // namespace tq::io::detail
