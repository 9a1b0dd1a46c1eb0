// SPDX-License-Identifier: MIT
#pragma once
// NameParts: a tensor's name in components and words.

#include <tq/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tq::detail {

// True if `text` is an element of `list`.
template <class List>
[[nodiscard]] constexpr bool is_one_of(std::string_view text, const List& list) noexcept {
  for (const std::string_view each : list)
    if (each == text) return true;
  return false;
}

[[nodiscard]] inline bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// The words of a component: "gate_up_proj" has three. Words beyond the most are left out.
class Words {
 public:
  explicit Words(std::string_view component) noexcept {
    while (size_ < most) {
      const std::size_t end = component.find('_');
      if (end != 0 && !component.empty()) words_[size_++] = component.substr(0, end);
      if (end == component.npos) return;
      component.remove_prefix(end + 1);
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] const std::string_view* begin() const noexcept { return words_.data(); }
  [[nodiscard]] const std::string_view* end() const noexcept { return words_.data() + size_; }
  [[nodiscard]] std::string_view operator[](std::size_t i) const noexcept { return words_[i]; }
  [[nodiscard]] std::string_view front() const noexcept { return words_[0]; }
  [[nodiscard]] std::string_view back() const noexcept { return words_[size_ - 1]; }

 private:
  static constexpr std::size_t most = 12;
  std::array<std::string_view, most> words_{};
  std::size_t size_ = 0;
};

[[nodiscard]] inline Words words_of(std::string_view component) noexcept {
  return Words(component);
}

[[nodiscard]] inline bool has_word(std::string_view component, std::string_view word) {
  return is_one_of(word, words_of(component));
}

// A name in lower case, split at '.' and '/'. The name of a parameter of a module ("weight") is no
// component of its own where a module's name stands before it.
class NameParts {
 public:
  explicit NameParts(std::string_view name) : parts_(1) {
    for (const char c : name) {
      if (c == '.' || c == '/') parts_.emplace_back();
      else parts_.back() += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    whole_last_ = parts_.back();
    static constexpr std::string_view weights[]{"weight", "bias", "kernel", "weight_v",
                                                "original1"};
    has_suffix_ = parts_.size() > 1 && is_one_of(parts_.back(), weights);
    if (has_suffix_) parts_.pop_back();
    static constexpr std::string_view wrappers[]{"parametrizations", "base_layer", "weight"};
    while (parts_.size() > 1 && is_one_of(parts_.back(), wrappers)) parts_.pop_back();
  }

  [[nodiscard]] const std::vector<std::string>& all() const noexcept { return parts_; }
  // The last component: the module of a "weight", or the parameter itself.
  [[nodiscard]] const std::string& last() const noexcept { return parts_.back(); }
  // The component before the last; empty where there is none.
  [[nodiscard]] std::string_view parent() const noexcept {
    return parts_.size() > 1 ? std::string_view(parts_[parts_.size() - 2]) : std::string_view();
  }
  // The last component as it is written: "weight" where a module has one.
  [[nodiscard]] const std::string& whole_last() const noexcept { return whole_last_; }
  // True for "fc.weight" and "in_proj_weight", false for a parameter with a name of its own.
  [[nodiscard]] bool is_weight() const noexcept {
    return (has_suffix_ && whole_last_ != "bias") || whole_last_.ends_with("_weight");
  }

  template <class F>
  [[nodiscard]] bool any(F&& f) const {
    return std::any_of(parts_.begin(), parts_.end(), f);
  }
  [[nodiscard]] bool has(std::string_view component) const { return is_one_of(component, parts_); }

  // True where a component before the last numbers a layer: "layers.3", "layer_3".
  [[nodiscard]] bool is_in_layer() const {
    return std::any_of(parts_.begin(), parts_.end() - 1, [](const std::string& part) {
      const auto words = words_of(part);
      static constexpr std::string_view layers[]{"layer", "layers", "block", "blocks", "h"};
      return is_number(part) ||
             (words.size() == 2 && is_one_of(words[0], layers) && is_number(words[1]));
    });
  }
  [[nodiscard]] bool is_in_attention() const {
    return any([](const std::string& part) {
      return part.find("attn") != part.npos || part.find("attention") != part.npos ||
             has_word(part, "att");
    });
  }
  // True for weights of experts, one by one or in a stack.
  [[nodiscard]] bool is_of_experts() const {
    return any([](const std::string& part) {
      return has_word(part, "experts") || has_word(part, "expert") || has_word(part, "exps") ||
             part == "switch_mlp";
    });
  }

 private:
  std::vector<std::string> parts_;
  std::string whole_last_;
  bool has_suffix_ = false;
};

}  // namespace tq::detail
