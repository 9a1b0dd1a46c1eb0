// SPDX-License-Identifier: MIT
#pragma once
// Hidden files of folders, which are part of no model and of no data: "._model.safetensors" is kept
// by macOS beside "model.safetensors" on other file systems.

#include <tq/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tq::io {

[[nodiscard]] inline bool is_hidden(std::string_view name) noexcept {
  return name.starts_with('.');
}

/// The end of a message about a folder with so many hidden files; empty for 0.
[[nodiscard]] inline std::string hidden_text(std::size_t hidden) {
  if (hidden == 0) return "";
  return " (and " + std::to_string(hidden) + (hidden == 1 ? " hidden file" : " hidden files") +
         ", whose names begin with \".\")";
}

}  // namespace tq::io
