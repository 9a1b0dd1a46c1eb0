// SPDX-License-Identifier: MIT
#pragma once
// Weights of GPTQ and AWQ, whose tensors have the same names.

#include <tq/checkpoints/detail/search.hpp>

#include <cstddef>
#include <string>

namespace tq::io::detail {

// GPTQ packs qweight along the inputs, AWQ along the outputs, of which there are 8 to a word.
inline void fill_gptq_or_awq(CheckpointCandidate& found) {
  CheckpointWeight& w = found.weight;
  const TensorInfo &q = found.part("weight"), &s = found.part("scales"),
                   &z = found.part("zero points");
  if (!found.require_matrix(q, DType::i32) || !found.require_matrix(z, DType::i32) ||
      !found.require_scale_type(s))
    return;
  if (s.shape.size() != 2 || count(s) == 0)
    return void(found.misfit(s, "scales of [groups, outputs]"));
  const std::size_t groups = s.shape[0], n = s.shape[1];
  const bool is_awq = n % 8 == 0 && q.shape[1] == n / 8;
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
  w.format = is_awq ? CheckpointFormat::awq : CheckpointFormat::gptq;
  w.bits = static_cast<int>(bits);
  w.is_gptq_v2 = found.hints().is_gptq_v2;
  w.shape = {n, k};
  if (found.has("g_idx")) found.require("g_idx", DType::i32, {k});
  found.require_groups(k, groups);
  w.dtype = float_type(s.dtype);
  w.scheme = std::string(to_string(w.format)) + " uint" + std::to_string(bits) + groups_text(w, k);
}

inline bool take_gptq_or_awq(CheckpointSearch& search, const TensorInfo& t) {
  if (leaf(t.name) != "qweight") return false;
  const std::string base = stem(t.name);
  search.take(base + "weight", CheckpointFormat::gptq,
              {{"weight", t.name},
               {"zero points", base + "qzeros"},
               {"scales", base + "scales"},
               {"g_idx", base + "g_idx"}},
              fill_gptq_or_awq);
  return true;
}

}  // namespace tq::io::detail
