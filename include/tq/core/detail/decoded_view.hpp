// SPDX-License-Identifier: MIT
#pragma once
// DecodedView: numbers that are stored in another form, each decoded when it is read.

#include <tq/config.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>  // with what says that a range borrows
#include <type_traits>

namespace tq {

/// A sequence of `size()` numbers, of which `Decode` makes number i from what is stored. It is as
/// cheap to copy as a span, and holds as long as one. Smallest `Decode`:
///
///     struct halves {
///       const int* doubled = nullptr;
///       float operator()(std::size_t i) const noexcept { return 0.5f *
///       static_cast<float>(doubled[i]); }
///     };
template <class Decode>
  requires std::default_initializable<Decode> &&
           std::is_nothrow_invocable_v<const Decode&, std::size_t>
class DecodedView {
 public:
  using value_type = std::invoke_result_t<const Decode&, std::size_t>;
  class iterator;

  constexpr DecodedView() noexcept = default;
  constexpr DecodedView(const Decode& decode, std::size_t size) noexcept
      : decode_(decode), size_(size) {}

  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  /// Precondition: i < size().
  [[nodiscard]] constexpr value_type operator[](std::size_t i) const noexcept { return decode_(i); }
  [[nodiscard]] constexpr value_type front() const noexcept { return decode_(0); }
  [[nodiscard]] constexpr value_type back() const noexcept { return decode_(size_ - 1); }
  [[nodiscard]] constexpr iterator begin() const noexcept { return {decode_, 0}; }
  [[nodiscard]] constexpr iterator end() const noexcept {
    return {decode_, static_cast<std::ptrdiff_t>(size_)};
  }

 private:
  Decode decode_{};
  std::size_t size_ = 0;
};

/// Random access; what it points to is a value and no object. Algorithms of before C++20 that want
/// more than one pass do not compile under _GLIBCXX_CONCEPT_CHECKS; those of std::ranges do.
template <class Decode>
  requires std::default_initializable<Decode> &&
           std::is_nothrow_invocable_v<const Decode&, std::size_t>
class DecodedView<Decode>::iterator {
 public:
  using value_type = DecodedView::value_type;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::random_access_iterator_tag;
  using iterator_category = std::input_iterator_tag;  // before C++20 the others had references
  using reference = value_type;
  using pointer = void;

  constexpr iterator() noexcept = default;
  constexpr iterator(const Decode& decode, difference_type at) noexcept
      : decode_(decode), at_(at) {}

  [[nodiscard]] constexpr value_type operator*() const noexcept { return (*this)[0]; }
  [[nodiscard]] constexpr value_type operator[](difference_type n) const noexcept {
    return decode_(static_cast<std::size_t>(at_ + n));
  }
  constexpr iterator& operator+=(difference_type n) noexcept {
    at_ += n;
    return *this;
  }
  constexpr iterator& operator-=(difference_type n) noexcept { return *this += -n; }
  constexpr iterator& operator++() noexcept { return *this += 1; }
  constexpr iterator& operator--() noexcept { return *this -= 1; }
  constexpr iterator operator++(int) noexcept {
    const iterator before = *this;
    ++*this;
    return before;
  }
  constexpr iterator operator--(int) noexcept {
    const iterator before = *this;
    --*this;
    return before;
  }
  [[nodiscard]] friend constexpr iterator operator+(iterator i, difference_type n) noexcept {
    return i += n;
  }
  [[nodiscard]] friend constexpr iterator operator+(difference_type n, iterator i) noexcept {
    return i += n;
  }
  [[nodiscard]] friend constexpr iterator operator-(iterator i, difference_type n) noexcept {
    return i -= n;
  }
  [[nodiscard]] friend constexpr difference_type operator-(const iterator& a,
                                                           const iterator& b) noexcept {
    return a.at_ - b.at_;
  }
  [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
    return a.at_ == b.at_;
  }
  [[nodiscard]] friend constexpr std::strong_ordering operator<=>(const iterator& a,
                                                                  const iterator& b) noexcept {
    return a.at_ <=> b.at_;
  }

 private:
  Decode decode_{};
  difference_type at_ = 0;
};

}  // namespace tq

// Iterators hold what they decode by, and so outlive the view.
template <class Decode>
inline constexpr bool std::ranges::enable_borrowed_range<tq::DecodedView<Decode>> = true;
template <class Decode>
inline constexpr bool std::ranges::enable_view<tq::DecodedView<Decode>> = true;
