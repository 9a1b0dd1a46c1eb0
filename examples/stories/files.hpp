// SPDX-License-Identifier: MIT
#pragma once
// The model, its vocabulary and the recorded texts from their files. What does not fit together is
// an error that names the file.

#include "model.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// Everything the data folder holds.
struct Story {
  Model model;
  std::vector<std::string> vocabulary;  // what a token writes

  /// A text, and what the model is known to say about it.
  struct Text {
    std::vector<int> tokens;
    Matrix logits;  // after every token
    Vector losses;  // of every token but the first
  };
  std::vector<Text> texts;
  std::vector<int> greedy;  // from the first token on, always the likeliest next one
};

/// Throws: tq::error, std::runtime_error.
Story load_story(const std::filesystem::path& folder);

/// The text of some tokens; line breaks and other bytes that do not print as escapes.
std::string to_text(const std::vector<int>& tokens, const std::vector<std::string>& vocabulary);
