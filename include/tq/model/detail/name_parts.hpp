// SPDX-License-Identifier: MIT
#pragma once
// NameParts: a tensor's name in components and words.

#include <tq/bodies.hpp>
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

[[nodiscard]] TQ_API bool is_number(std::string_view text) noexcept;

// The words of a component: "gate_up_proj" has three. Words beyond the most are left out.
class Words {
 public:
  TQ_API explicit Words(std::string_view component) noexcept;
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

[[nodiscard]] TQ_API Words words_of(std::string_view component) noexcept;

[[nodiscard]] TQ_API bool has_word(std::string_view component, std::string_view word);

// A name in lower case, split at '.' and '/'. The name of a parameter of a module ("weight") is no
// component of its own where a module's name stands before it.
class NameParts {
 public:
  TQ_API explicit NameParts(std::string_view name);

  [[nodiscard]] const std::vector<std::string>& all() const noexcept { return parts_; }
  // The last component: the module of a "weight", or the parameter itself.
  [[nodiscard]] const std::string& last() const noexcept { return parts_.back(); }
  // The component before the last; empty where there is none.
  [[nodiscard]] TQ_API std::string_view parent() const noexcept;
  // The last component as it is written: "weight" where a module has one.
  [[nodiscard]] const std::string& whole_last() const noexcept { return whole_last_; }
  // True for "fc.weight" and "in_proj_weight", false for a parameter with a name of its own.
  [[nodiscard]] TQ_API bool is_weight() const noexcept;

  template <class F>
  [[nodiscard]] bool any(F&& f) const {
    return std::any_of(parts_.begin(), parts_.end(), f);
  }
  [[nodiscard]] bool has(std::string_view component) const { return is_one_of(component, parts_); }

  // True where a component before the last numbers a layer: "layers.3", "layer_3".
  [[nodiscard]] TQ_API bool is_in_layer() const;
  [[nodiscard]] TQ_API bool is_in_attention() const;
  // True for weights of experts, one by one or in a stack.
  [[nodiscard]] TQ_API bool is_of_experts() const;

 private:
  std::vector<std::string> parts_;
  std::string whole_last_;
  bool has_suffix_ = false;
};

}  // namespace tq::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/model/detail/name_parts.ipp>
#endif
