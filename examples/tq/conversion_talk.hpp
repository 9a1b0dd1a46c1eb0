// SPDX-License-Identifier: MIT
#pragma once
// The words of a command on standard error while the library converts a model.

#include "progress.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tool {

class ConversionTalk {
 public:
  // Sets the calls of `options`, a ConvertOptions or CheckpointOptions, that report to this object,
  // which must outlive the conversion. `command`: the name of the command, a text that outlives the
  // object.
  template <class Options>
  ConversionTalk(const char* command, Options& options) : command_(command) {
    options.progress = [this](std::uint64_t done, std::uint64_t all) { advance(done, all); };
    options.on_restart = [this](const std::string& changed) { tell_restart(changed); };
  }
  ConversionTalk(const ConversionTalk&) = delete;
  ConversionTalk& operator=(const ConversionTalk&) = delete;

 private:
  void advance(std::uint64_t done, std::uint64_t all);
  void tell_restart(const std::string& changed) const;

  const char* command_;
  std::optional<Progress> progress_;
  std::uint64_t done_ = 0;
};

}  // namespace tool
