// SPDX-License-Identifier: MIT
#pragma once
// Quantized files: write and read tensors of static and run-time schemes. Needs nlohmann_json and
// zlib.

#include <tq/store/description.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/missing_file.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/part_bytes.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/pool.hpp>
#include <tq/store/save.hpp>
#include <tq/store/saved_tensor.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_parts.hpp>
#include <tq/store/stored_tensor.hpp>
