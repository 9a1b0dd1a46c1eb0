// SPDX-License-Identifier: MIT
#pragma once
// The effect of calibration: the same activations, clipped where each calibrator says.

#include "network.hpp"

#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/observer.hpp>

#include <cstddef>
#include <string>
#include <vector>

/// Observers of the input of every layer.
struct LayerInputs {
  std::vector<tq::Observer<tq::Histogram>> histograms;
  std::vector<tq::Observer<tq::MeanStd>> moments;
};

/// Runs `images` through the network in batches, and observes the inputs of its layers.
LayerInputs observe_inputs(const Network& net, const Matrix& images);

/// One calibrator's work on a network.
struct Calibrated {
  std::string calibrator;
  Matrix int8_logits, int4_logits;          // of the images, with activations of these types
  double int8_input_sqnr, int4_input_sqnr;  // in dB, of all layer inputs together
};

/// Every calibrator in turn: weights stay float32, every layer's input is quantized with one scale
/// and zero point. Throws: tq::error.
std::vector<Calibrated> try_calibrators(const Network& net, const LayerInputs& seen,
                                        const Matrix& images);
