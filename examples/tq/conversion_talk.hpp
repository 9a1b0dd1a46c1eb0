// SPDX-License-Identifier: MIT
#pragma once
// The words of a command on standard error while the library converts a model.

#include "progress.hpp"

#include <tq/store/convert_options.hpp>

#include <cstdint>
#include <optional>

namespace tool {

class ConversionTalk {
 public:
  // Sets the calls of `options` that report to this object, which must outlive the conversion.
  // `command`: the name of the command, a text that outlives the object.
  ConversionTalk(const char* command, tq::ConvertOptions& options);
  ConversionTalk(const ConversionTalk&) = delete;
  ConversionTalk& operator=(const ConversionTalk&) = delete;

 private:
  void advance(std::uint64_t done, std::uint64_t all);

  const char* command_;
  std::optional<Progress> progress_;
  std::uint64_t done_ = 0;
};

}  // namespace tool
