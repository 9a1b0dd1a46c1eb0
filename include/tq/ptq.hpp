// SPDX-License-Identifier: MIT
#pragma once
// Weight algorithms after training: Hessians of activations, their factors, error feedback, scales,
// rotations and learned rounding.

#include <tq/ptq/awq_scales.hpp>
#include <tq/ptq/bias_correction.hpp>
#include <tq/ptq/column_order.hpp>
#include <tq/ptq/conv_patches.hpp>
#include <tq/ptq/coordinate_descent.hpp>
#include <tq/ptq/corrected_target.hpp>
#include <tq/ptq/cross_hessian.hpp>
#include <tq/ptq/divided_hessian.hpp>
#include <tq/ptq/encode_weights.hpp>
#include <tq/ptq/equalize.hpp>
#include <tq/ptq/expected_error.hpp>
#include <tq/ptq/expected_loss.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/factor_stack.hpp>
#include <tq/ptq/float_hessian.hpp>
#include <tq/ptq/gptq.hpp>
#include <tq/ptq/gptq_result.hpp>
#include <tq/ptq/hadamard.hpp>
#include <tq/ptq/hessian.hpp>
#include <tq/ptq/hessian_stack.hpp>
#include <tq/ptq/hqq.hpp>
#include <tq/ptq/learn_rounding.hpp>
#include <tq/ptq/mean_squares.hpp>
#include <tq/ptq/migrate.hpp>
#include <tq/ptq/powers_of_two.hpp>
#include <tq/ptq/refit_scales.hpp>
#include <tq/ptq/smooth_scales.hpp>
#include <tq/ptq/weight_report.hpp>
#include <tq/ptq/weighted_search.hpp>
