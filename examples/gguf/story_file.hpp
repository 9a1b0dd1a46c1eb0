// SPDX-License-Identifier: MIT
#pragma once
// The model of examples/stories as a GGUF file, and back.

#include "stories/files.hpp"

#include <filesystem>

/// Writes the model in float32, with the keys and the vocabulary that llama.cpp reads. `folder` has
/// the vocabulary. Throws: tq::error.
void write_story(const std::filesystem::path& out, const Model& model,
                 const std::filesystem::path& folder);

/// The model with the matrices of a GGUF file, decoded. Throws: tq::error; std::runtime_error for
/// matrices of other shapes.
Model read_story(const std::filesystem::path& file, const Model& model);
