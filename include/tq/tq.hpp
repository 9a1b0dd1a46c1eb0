// SPDX-License-Identifier: MIT
#pragma once
// Everything but model/ (schemes chosen at run time, which take long to compile), linear/ (whose
// kernels are not in the kernel library) and io/ and interop/, which bring third parties in.

#include <tq/calibrate/aciq.hpp>
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/calibrate/mean_abs.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/formats.hpp>
#include <tq/layouts/awq.hpp>
#include <tq/layouts/bitsandbytes.hpp>
#include <tq/layouts/compressed_tensors.hpp>
#include <tq/layouts/gptq.hpp>
#include <tq/layouts/matmul_nbits.hpp>
#include <tq/layouts/microscaling.hpp>
#include <tq/layouts/nvfp4.hpp>
#include <tq/layouts/scale_layout.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/percentile.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/copy.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/ops/tensor_scale.hpp>
#include <tq/train/backward.hpp>
#include <tq/train/dorefa.hpp>
#include <tq/train/ewgs.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/log2_threshold.hpp>
#include <tq/train/pact.hpp>
#include <tq/train/straight_through.hpp>
#include <tq/version.hpp>
