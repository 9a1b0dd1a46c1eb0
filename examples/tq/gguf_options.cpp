// SPDX-License-Identifier: MIT
#include "gguf_options.hpp"

#include "checkpoint_choice.hpp"

#include <tq/scheme/detail/known_names.hpp>
#include <tq/store/gguf_mix.hpp>

namespace tool {

GgufCommandLine::GgufCommandLine(CLI::App& command) {
  options_.push_back(
      command
          .add_option("--method", method_,
                      "of a GGUF file: \"best\" searches for blocks with the least error, \"ggml\" "
                      "makes the bytes of llama-quantize (default best)")
          ->check(CLI::IsMember({"best", "ggml"})));
  options_.push_back(
      command.add_option("--imatrix", imatrix_,
                         "of a GGUF file: the importance of inputs, a file of tq imatrix, or of "
                         "llama-imatrix in the GGUF form or the binary one"));
  options_.push_back(
      command.add_option("--mapping", mapping_,
                         "of a GGUF file: a JSON file with the names and keys that the model has "
                         "in GGUF files (default: those of Llama, Mistral and Mixtral models)"));
  options_.push_back(
      command.add_option("--metadata", metadata_,
                         "of a GGUF file: another GGUF file, whose keys are added where IN has "
                         "none, such as a tokenizer's"));
}

std::string GgufCommandLine::given() const {
  for (const CLI::Option* option : options_)
    if (option->count() != 0) return option->get_name();
  return "";
}

void GgufCommandLine::apply(tq::GgufOptions& how) const {
  how.method = method_ == "ggml" ? tq::GgufMethod::ggml : tq::GgufMethod::best;
  how.imatrix = imatrix_;
  how.mapping = mapping_;
  how.metadata = metadata_;
}

void GgufCommandLine::apply(SelectOptions& options) const {
  if (options.engine == gguf_engine) return apply(options.gguf);
  const std::string option = options.jobs == 1 ? given() : "--jobs";
  if (!option.empty()) throw UsageError(option + ": expected --for llama.cpp beside it");
}

GgufQuantizeOptions GgufCommandLine::resolved(const QuantizeOptions& options,
                                              const CheckpointChoice& scheme) const {
  const auto refuse = [](bool is_given, const char* option) {
    if (is_given) throw UsageError(std::string(option) + ": expected none for a GGUF file");
  };
  refuse(scheme.group_size.has_value(), "--group-size");
  refuse(scheme.is_symmetric.has_value(), "--symmetry");
  refuse(!options.kinds.empty(), "--quantize-kind");
  refuse(options.all, "--all");
  refuse(options.allow_nonfinite, "--allow-nonfinite");
  refuse(options.algorithm.name != "rtn", "--algorithm");
  if (!options.config.empty() && !scheme.type.empty())
    throw UsageError("--type: expected none beside --config, which has the types");
  GgufQuantizeOptions out{options.in, options.out, {}, options.json, options.talk};
  if (!scheme.type.empty()) out.how.type = scheme.type;
  out.how.config = options.config;
  apply(out.how);
  out.how.names = options.names;
  out.how.requantize = options.requantize;
  out.how.shard_size = options.shard_size;
  out.how.jobs = options.jobs;
  out.how.overwrite = options.overwrite;
  if (out.how.config.empty()) try {
      static_cast<void>(tq::gguf_mix(out.how.type));
    } catch (const tq::error& e) {
      throw UsageError(std::string("--type: ") + e.what());
    }
  return out;
}

bool is_gguf_name(const std::string& name) { return name.ends_with(".gguf"); }

}  // namespace tool
