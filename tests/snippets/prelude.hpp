// SPDX-License-Identifier: MIT
#pragma once
// Names that the examples in the documents use without declaring them.

#include <tq/tq.hpp>

#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace tq_snippet_prelude {

inline std::vector<float> weights(64, 0.5F);
inline std::vector<float> activations(64, 0.25F);
inline std::vector<float> gradients(64, 0.125F);
inline std::vector<std::vector<float>> batches(2, std::vector<float>(64, 0.25F));

}  // namespace tq_snippet_prelude
