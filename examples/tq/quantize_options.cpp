// SPDX-License-Identifier: MIT
#include "quantize_options.hpp"

#include "checkpoint_choice.hpp"

#include <tq/model/node_kind.hpp>
#include <tq/scheme/detail/known_names.hpp>

#include <utility>

namespace tool {

void add_names(CLI::App& command, NamePatterns& names, const std::string& excluded) {
  command
      .add_option(
          "--include", names.include,
          "only tensors whose name has a match of this regular expression (repeatable); the "
          "exact name of a tensor or module also takes a head, a router and the like")
      ->allow_extra_args(false);
  command
      .add_option("--exclude", names.exclude,
                  excluded +
                      " tensors whose name has a match of this regular expression "
                      "(repeatable)")
      ->allow_extra_args(false);
}

void add_kinds(CLI::App& command, std::vector<tq::NodeKind>& kinds, bool& all,
               const std::string& scalars) {
  std::vector<std::string> kept;
  for (const tq::NodeKind kind : tq::default_float_kinds) kept.emplace_back(to_string(kind));
  const auto set = [&kinds](const std::vector<std::string>& names) {
    kinds.clear();
    for (const std::string& name : names)
      if (const auto kind = tq::find_node_kind(name)) kinds.push_back(*kind);
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--quantize-kind", set,
          "also quantize tensors of this kind, which stay in float otherwise (repeatable): " +
              tq::joined_names(kept))
      ->check(CLI::IsMember(kept))
      ->allow_extra_args(false);
  command.add_flag("--all", all, "quantize all of these kinds, 1-D tensors" + scalars);
}

void add_overwrite(CLI::App& command, bool& overwrite) {
  command.add_flag("--overwrite", overwrite,
                   "replace what is in the place of the output; without it, only a file that tq "
                   "wrote and nobody changed is replaced");
}

void add_writing(CLI::App& command, std::size_t& jobs, bool& overwrite) {
  command
      .add_option("--jobs", jobs,
                  "how many tensors are worked on at once, as far as memory for the largest and 64 "
                  "MiB suffices (default 1); the output is the same")
      ->check(CLI::Range(1, 1024));
  command.add_flag(
      "--overwrite", overwrite,
      "replace what is in the place of the output: a file, or the index and the shards "
      "of a folder's model, finished or not; without it, only one file that tq wrote "
      "and nobody changed is replaced, and a run that was ended is only continued by "
      "the same command");
}

void add_talk(CLI::App& command, Talk& talk, TalkOf what) {
  command.add_flag("--quiet", talk.quiet, "print nothing but errors (and what --json prints)");
  if (what != TalkOf::progress)
    command.add_flag("--verbose", talk.verbose,
                     "print a row for every tensor, however many there are");
  if (what == TalkOf::rows) return;
  command
      .add_option("--progress", talk.progress,
                  "seconds between lines of progress where standard error is no terminal (default: "
                  "5, then ever longer, up to 60)")
      ->check(CLI::NonNegativeNumber);
}

namespace {

// IN and OUT come before the options of a scheme.
CLI::App& with_files(CLI::App& command, QuantizeOptions& options) {
  command.add_option("IN", options.in, "the file to read, or the folder of a sharded one")
      ->required();
  command
      .add_option(
          "OUT", options.out,
          "the .safetensors or .gguf file to write; or an .index.json, or a folder (one that "
          "exists, a name "
          "ending in /, or, where IN is a folder, one without an extension), for a shard of each "
          "file of IN")
      ->required();
  return command;
}

}  // namespace

QuantizeCommandLine::QuantizeCommandLine(CLI::App& command)
    : scheme_(with_files(command, options_)), algorithm_(command), gguf_(command) {
  command.add_option("--format", choice_.format,
                     "write a folder that engines load, with the files beside the weights, in the "
                     "format of another program: " +
                         checkpoint_format_names() + "; --type is then a scheme of that format");
  command.add_option("--for", choice_.engine,
                     "the same in the format that an engine runs best: " + engine_names());
  command
      .add_option("--tensor-parallel", choice_.tensor_parallel,
                  "processes among which the engine divides every layer (default 1); layers that "
                  "cannot be divided stay in float")
      ->check(CLI::Range(1, 1024));
  command.add_option("--config", options_.config,
                     "a JSON file that says which tensors become what, in place of --type and what "
                     "goes with it (docs/quant-config.schema.json); beside --format or --for, a "
                     "file of tq select --for; for a GGUF file, a mix");
  add_names(command, options_.names, "copy");
  add_kinds(command, options_.kinds, options_.all,
            ", tensors that grow, and scalars (always per tensor)");
  command.add_flag("--requantize", options_.requantize,
                   "quantize weights that another program quantized anew, from their values, "
                   "instead of copying all their parts");
  command.add_flag(
      "--allow-nonfinite", options_.allow_nonfinite,
      "infinity becomes the end of the range and NaN 0 (or stays, in formats that have it)");
  command
      .add_option("--shard-size", options_.shard_size,
                  "of a GGUF file: bytes of weights in a part (2G: 2000000000), so that OUT.gguf "
                  "becomes OUT-00001-of-00003.gguf and so on; finished parts are kept for the next "
                  "run when this one is ended (default: one file)")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::PositiveNumber);
  add_writing(command, options_.jobs, options_.overwrite);
  add_talk(command, options_.talk, TalkOf::rows_and_progress);
}

const QuantizeOptions& QuantizeCommandLine::with_checkpoint() {
  const auto refuse = [](bool is_given, const char* option) {
    if (is_given)
      throw UsageError(std::string(option) + ": expected none beside --format or --for");
  };
  refuse(!options_.kinds.empty(), "--quantize-kind");
  refuse(options_.all, "--all");
  refuse(options_.requantize, "--requantize");
  refuse(options_.allow_nonfinite, "--allow-nonfinite");
  scheme_.apply(choice_);
  if (!options_.config.empty()) {
    if (const std::string given = scheme_.given(); !given.empty())
      throw UsageError(given + ": expected none beside --config, which has the schemes");
    choice_ = with_schemes(std::move(choice_), options_.config);
  }
  options_.checkpoint = resolved(choice_);
  algorithm_.apply(options_, false, static_type(*options_.checkpoint));
  return options_;
}

GgufQuantizeOptions QuantizeCommandLine::gguf_options() {
  const bool has_engine = !choice_.engine.empty() && choice_.engine != gguf_engine;
  if (!choice_.format.empty() || has_engine || choice_.tensor_parallel != 1)
    throw UsageError("OUT: expected a folder beside --format or --for, got a GGUF file");
  algorithm_.apply(options_, false);
  CheckpointChoice scheme;
  scheme_.apply(scheme);
  return gguf_.resolved(options_, scheme);
}

void QuantizeCommandLine::run(const Team& team) {
  if (!is_gguf_name(options_.out)) {
    const std::string given = options_.shard_size != 0 ? "--shard-size" : gguf_.given();
    if (!given.empty()) throw UsageError(given + ": expected an OUT that ends in .gguf beside it");
    return quantize(options(), team);
  }
  quantize_gguf(gguf_options(), team);
}

}  // namespace tool
