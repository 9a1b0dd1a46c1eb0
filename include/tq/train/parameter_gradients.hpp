// SPDX-License-Identifier: MIT
#pragma once
// ParameterGradients: what the gradient policy of fake quantization learns.

#include <tq/config.hpp>

#include <vector>

namespace tq {

/// Per slot, in the order of the parameters, the sums over its elements of dL/dy times dy/dscale
/// and dy/doffset as the policy has them; empty for what it does not learn.
struct ParameterGradients {
  std::vector<double> scale, offset;
};

}  // namespace tq
