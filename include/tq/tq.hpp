// SPDX-License-Identifier: MIT
#pragma once
// Everything but io/ and interop/, which bring third parties in.

#include <tq/calibrate/calibrate.hpp>
#include <tq/core/executor.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/train/straight_through.hpp>
#include <tq/version.hpp>
