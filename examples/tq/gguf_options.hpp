// SPDX-License-Identifier: MIT
#pragma once
// Options of tq quantize for an output that is a GGUF file.

#include "commands.hpp"

#include <tq/store/gguf_options.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tool {

// A GGUF file to write, and how to report on it.
struct GgufQuantizeOptions {
  std::string in, out;
  tq::GgufOptions how;
  bool json = false;
  Talk talk{};
};
void quantize_gguf(const GgufQuantizeOptions& options, const Team& team = Team());

// The options that only GGUF files have.
class GgufCommandLine {
 public:
  explicit GgufCommandLine(CLI::App& command);
  GgufCommandLine(const GgufCommandLine&) = delete;
  GgufCommandLine& operator=(const GgufCommandLine&) = delete;

  // The first of the options that were given; else empty.
  [[nodiscard]] std::string given() const;
  // Sets the options that only GGUF files have.
  void apply(tq::GgufOptions& how) const;
  // The same of tq select. Throws: UsageError for options of another engine.
  void apply(SelectOptions& options) const;
  // With what other options of tq quantize say. `type` is empty where none was given. Throws:
  // UsageError for options that GGUF files do not have.
  [[nodiscard]] GgufQuantizeOptions resolved(const QuantizeOptions& options,
                                             const CheckpointChoice& scheme) const;

 private:
  std::string method_ = "best", imatrix_, mapping_, metadata_;
  std::vector<const CLI::Option*> options_;
};

// True for the name of a GGUF file.
[[nodiscard]] bool is_gguf_name(const std::string& name);

}  // namespace tool
