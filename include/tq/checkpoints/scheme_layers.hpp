// SPDX-License-Identifier: MIT
#pragma once
// SchemeLayers: the layers of a model that have one scheme of a format.

#include <tq/config.hpp>

#include <string>
#include <vector>

namespace tq::io {

/// A scheme, and its layers as the configuration of a model names them.
template <class F>
struct SchemeLayers {
  F format;
  std::vector<std::string> modules;
};

}  // namespace tq::io
