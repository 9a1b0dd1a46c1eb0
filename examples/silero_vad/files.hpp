// SPDX-License-Identifier: MIT
#pragma once
// The detector, a recording and what the detector is known to say about it, from their files.

#include "network.hpp"

#include <filesystem>

struct Recording {
  FloatDetector detector;
  Matrix chunks;         // [chunks, 512], from -1 to 1
  Vector probabilities;  // one a chunk
};

/// Throws: tq::error, std::runtime_error for tensors of other shapes, with the name.
Recording load_recording(const std::filesystem::path& folder);
