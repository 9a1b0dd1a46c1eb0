// SPDX-License-Identifier: MIT
#pragma once
// The detector with integers in its convolutions and its LSTM cell.

#include "network.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// A detector of one kind of weights and activations.
struct Listener {
  std::string weights, activations;
  std::size_t bytes = 0;  // codes and scales of the convolutions and the cell
  float tolerance = 0;    // how far its probabilities may be from those of float32
  std::function<Vector(const Matrix& chunks)> probabilities;
};

/// The float detector first; then those whose weights are int8 with a scale for each output, and
/// whose activations have scales, and zero points if uint8, of their own, chunk by chunk, or one
/// range each, that of the `calibration` chunks. The spectrum, sums and functions of the cell, and
/// the last layer stay float. Throws: tq::error.
std::vector<Listener> listeners(const FloatDetector& detector, const Matrix& calibration);
