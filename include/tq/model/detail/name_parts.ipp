// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/detail/name_parts.hpp.

#include <tq/model/detail/name_parts.hpp>

namespace tq::detail {

TQ_API bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

TQ_API Words::Words(std::string_view component) noexcept {
  while (size_ < most) {
    const std::size_t end = component.find('_');
    if (end != 0 && !component.empty()) words_[size_++] = component.substr(0, end);
    if (end == component.npos) return;
    component.remove_prefix(end + 1);
  }
}

TQ_API Words words_of(std::string_view component) noexcept { return Words(component); }

TQ_API bool has_word(std::string_view component, std::string_view word) {
  return is_one_of(word, words_of(component));
}

TQ_API NameParts::NameParts(std::string_view name) : parts_(1) {
  for (const char c : name) {
    if (c == '.' || c == '/') parts_.emplace_back();
    else parts_.back() += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  whole_last_ = parts_.back();
  static constexpr std::string_view weights[]{"weight", "bias", "kernel", "weight_v", "original1"};
  has_suffix_ = parts_.size() > 1 && is_one_of(parts_.back(), weights);
  if (has_suffix_) parts_.pop_back();
  static constexpr std::string_view wrappers[]{"parametrizations", "base_layer", "weight"};
  while (parts_.size() > 1 && is_one_of(parts_.back(), wrappers)) parts_.pop_back();
}

TQ_API std::string_view NameParts::parent() const noexcept {
  return parts_.size() > 1 ? std::string_view(parts_[parts_.size() - 2]) : std::string_view();
}

TQ_API bool NameParts::is_weight() const noexcept {
  return (has_suffix_ && whole_last_ != "bias") || whole_last_.ends_with("_weight");
}

TQ_API bool NameParts::is_in_layer() const {
  return std::any_of(parts_.begin(), parts_.end() - 1, [](const std::string& part) {
    const auto words = words_of(part);
    static constexpr std::string_view layers[]{"layer", "layers", "block", "blocks", "h"};
    return is_number(part) ||
           (words.size() == 2 && is_one_of(words[0], layers) && is_number(words[1]));
  });
}

TQ_API bool NameParts::is_in_attention() const {
  return any([](const std::string& part) {
    return part.find("attn") != part.npos || part.find("attention") != part.npos ||
           has_word(part, "att");
  });
}

TQ_API bool NameParts::is_of_experts() const {
  return any([](const std::string& part) {
    return has_word(part, "experts") || has_word(part, "expert") || has_word(part, "exps") ||
           part == "switch_mlp";
  });
}

}  // namespace tq::detail
