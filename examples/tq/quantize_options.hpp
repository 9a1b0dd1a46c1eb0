// SPDX-License-Identifier: MIT
#pragma once
// The options of tq quantize, for every program that has them.

#include "algorithm_options.hpp"
#include "commands.hpp"
#include "gguf_options.hpp"
#include "scheme_options.hpp"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tool {

// --include and --exclude. `excluded`: what becomes of tensors that are excluded.
void add_names(CLI::App& command, NamePatterns& names, const std::string& excluded);

// --quantize-kind and --all.
void add_kinds(CLI::App& command, std::vector<tq::NodeKind>& kinds, bool& all,
               const std::string& scalars);

// --overwrite of a command that writes files.
void add_overwrite(CLI::App& command, bool& overwrite);

// --jobs and --overwrite of a command that writes models.
void add_writing(CLI::App& command, std::size_t& jobs, bool& overwrite);

// --quiet; --verbose of a command that prints a row for a tensor; --progress of one that may work
// long.
enum class TalkOf { rows, progress, rows_and_progress };
void add_talk(CLI::App& command, Talk& talk, TalkOf what);

// Options of a command line, which are read into a QuantizeOptions.
class QuantizeCommandLine {
 public:
  explicit QuantizeCommandLine(CLI::App& command);
  QuantizeCommandLine(const QuantizeCommandLine&) = delete;
  QuantizeCommandLine& operator=(const QuantizeCommandLine&) = delete;

  // Throws: UsageError for options that make no sense.
  [[nodiscard]] const QuantizeOptions& options() {
    if (!choice_.format.empty() || !choice_.engine.empty()) return with_checkpoint();
    if (choice_.tensor_parallel != 1)
      throw UsageError("--tensor-parallel: expected it beside --format or --for");
    options_.spec = scheme_.spec();
    algorithm_.apply(options_, !options_.config.empty());
    const std::string given = options_.config.empty() ? std::string() : scheme_.given();
    if (!given.empty())
      throw UsageError(given + ": expected none beside --config, which has the schemes");
    return options_;
  }
  // Runs the command. Throws: as `options`.
  void run(const Team& team = Team());
  [[nodiscard]] bool& json() { return options_.json; }

 private:
  [[nodiscard]] GgufQuantizeOptions gguf_options();
  [[nodiscard]] const QuantizeOptions& with_checkpoint();

  QuantizeOptions options_;
  CheckpointChoice choice_;
  SchemeOptions scheme_;
  AlgorithmOptions algorithm_;
  GgufCommandLine gguf_;
};

}  // namespace tool
