// SPDX-License-Identifier: MIT
#pragma once
// OutputStage, its rules and matmul_requantized, at the path where programs included them before
// they had headers of their own.

#include <tq/linear/matmul_requantized.hpp>
#include <tq/linear/output/float_product.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/linear/output/requantize_double.hpp>
#include <tq/linear/output/requantize_float.hpp>
#include <tq/linear/output/requantize_single.hpp>
#include <tq/linear/output/requantize_torch.hpp>
#include <tq/linear/output/requantize_up.hpp>
