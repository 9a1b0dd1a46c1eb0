// SPDX-License-Identifier: MIT
#pragma once
// Formats of other programs and the engines that load them, by the names of options.

#include "commands.hpp"

#include <tq/store/activation_ranges.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// The engine that loads GGUF files, which are no folders in the format of a checkpoint.
inline constexpr std::string_view gguf_engine = "llama.cpp";

// The names of --format and of --for, for help and messages.
[[nodiscard]] std::string checkpoint_format_names();
[[nodiscard]] std::string engine_names();

// The choice with format and type. Throws: UsageError for names that are unknown, a type that the
// format has not, options that it has not, and an engine that does not load it.
[[nodiscard]] CheckpointChoice resolved(CheckpointChoice choice);

// Throws: UsageError, naming the option, for a type that an engine does not run; an empty name is
// no engine.
void require_runs(const std::string& engine, const CheckpointChoice& choice,
                  const std::string& option);

// The format in which an engine loads layers of several schemes, and the names of those among which
// it is best chosen: "int4_g64" is type int4 in groups of 64. Throws: UsageError.
struct MixtureFormat {
  std::string format;
  std::vector<std::string> schemes;
  std::shared_ptr<const tq::ActivationRanges> inputs{};  // for schemes that store scales of these
};
[[nodiscard]] MixtureFormat mixture_format(const std::string& engine);

// The type and the groups of such a name. `where`: the option that has it. Throws: UsageError.
[[nodiscard]] CheckpointChoice scheme_choice(const std::string& format, const std::string& scheme,
                                             const std::string& where);

// The choice with the schemes of a file that tq select --for wrote. Throws: UsageError for a format
// or an engine other than those of the options; errc::malformed.
[[nodiscard]] CheckpointChoice with_schemes(CheckpointChoice choice, const std::string& path);

// True for a type that stores scales of activations.
[[nodiscard]] bool is_static(const std::string& type);
// The type of a resolved choice, or of one of its layers, for which `is_static` is true; empty if
// there is none.
[[nodiscard]] std::string static_type(const CheckpointChoice& choice);

// A line that loads a folder.
struct LoadingLine {
  std::string engine, line;
};

// The engines that load the format; only the chosen engine where there is one.
[[nodiscard]] std::vector<LoadingLine> loading_lines(const CheckpointChoice& choice,
                                                     const std::string& folder);

}  // namespace tool
