// SPDX-License-Identifier: MIT
#pragma once
// Quantized files and models: write and read tensors of static and run-time schemes, convert whole
// models. Needs nlohmann_json and zlib.

#include <tq/store/checkpoint_measurement.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/checkpoint_report.hpp>
#include <tq/store/conversion_report.hpp>
#include <tq/store/conversion_totals.hpp>
#include <tq/store/convert_model.hpp>
#include <tq/store/convert_options.hpp>
#include <tq/store/converted_tensor.hpp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/data_files.hpp>
#include <tq/store/dequantize_model.hpp>
#include <tq/store/description.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/finite_part.hpp>
#include <tq/store/fit_weights.hpp>
#include <tq/store/float_reader.hpp>
#include <tq/store/hessian_file.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/in_memory.hpp>
#include <tq/store/measure_checkpoint.hpp>
#include <tq/store/missing_file.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/name_filter.hpp>
#include <tq/store/name_patterns.hpp>
#include <tq/store/nonfinite_counts.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/own_file.hpp>
#include <tq/store/part_bytes.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/pool.hpp>
#include <tq/store/same_file.hpp>
#include <tq/store/save.hpp>
#include <tq/store/saved_tensor.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_parts.hpp>
#include <tq/store/stored_tensor.hpp>
#include <tq/store/team.hpp>
#include <tq/store/write_checkpoint.hpp>
