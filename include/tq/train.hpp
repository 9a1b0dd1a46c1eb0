// SPDX-License-Identifier: MIT
#pragma once
// Quantization-aware training: FakeQuantize layers and the gradients of their parameters.

#include <tq/train/backward.hpp>
#include <tq/train/dorefa.hpp>
#include <tq/train/ewgs.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/gradient.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/log2_threshold.hpp>
#include <tq/train/pact.hpp>
#include <tq/train/parameter_gradients.hpp>
#include <tq/train/straight_through.hpp>
#include <tq/train/training_switches.hpp>
