// SPDX-License-Identifier: MIT
#pragma once
// Checks and texts of selections for engines: tq select --for.

#include "commands.hpp"

#include <tq/select/precision_model.hpp>
#include <tq/select/precision_selector.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace tool {

// Throws: UsageError for options that no engine's selection has.
void require_no_others(const SelectOptions& options);

// The elements of all nodes.
[[nodiscard]] std::uint64_t weights_of(const tq::PrecisionModel& model);

// "5000 in int4_g32, 9000 in float": bytes of outputs whose nodes have one scheme where it fits.
[[nodiscard]] std::string uniform_sizes(
    const tq::PrecisionSelector& selector,
    const std::function<std::uint64_t(const tq::PrecisionSelection&)>& bytes_of);

// A word of a command, for a shell.
[[nodiscard]] std::string quoted(const std::string& word);
// " --include ..." and " --exclude ..." of a command.
[[nodiscard]] std::string name_options(const NamePatterns& names);

// The selection for llama.cpp: types of a GGUF file. `select_for` comes here.
void select_gguf(const SelectOptions& options);

}  // namespace tool
