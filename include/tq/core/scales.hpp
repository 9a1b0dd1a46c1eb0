// SPDX-License-Identifier: MIT
#pragma once
// Scales as they are stored: float32, a smaller float each, or on two levels.

#include <tq/core/double_quantized_scales.hpp>
#include <tq/core/plain_scales.hpp>
#include <tq/core/scale_kinds.hpp>
#include <tq/core/two_level_scales.hpp>
