// SPDX-License-Identifier: MIT
#pragma once
// Kept: the result of an accessor of a temporary: the object itself, read through its view.

#include <tq/config.hpp>

#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace tq::detail {

// Owns a temporary and reads as the range that `View` makes of it. No std::span converts from it,
// so that no view outlives the elements; `view()` of a named object is the view itself.
template <class Owner, class View>
class Kept {
 public:
  using value_type = std::remove_cvref_t<decltype(View{}(std::declval<const Owner&>())[0])>;

  // Its category is input: contiguous iterators would make a range that spans convert from.
  class iterator {
   public:
    using value_type = typename Kept::value_type;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    constexpr iterator() = default;
    constexpr iterator(const Kept* of, std::size_t at) noexcept : of_(of), at_(at) {}
    constexpr value_type operator*() const { return (*of_)[at_]; }
    constexpr iterator& operator++() noexcept { return ++at_, *this; }
    constexpr iterator operator++(int) noexcept { return {of_, at_++}; }
    friend constexpr bool operator==(const iterator&, const iterator&) = default;

   private:
    const Kept* of_ = nullptr;
    std::size_t at_ = 0;
  };

  constexpr explicit Kept(Owner&& owner) : owner_(std::move(owner)) {}
  [[nodiscard]] constexpr auto view() const& noexcept TQ_LIFETIMEBOUND { return View{}(owner_); }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return view().size(); }
  [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] constexpr value_type operator[](std::size_t i) const noexcept { return view()[i]; }
  [[nodiscard]] constexpr value_type front() const noexcept { return (*this)[0]; }
  [[nodiscard]] constexpr value_type back() const noexcept { return (*this)[size() - 1]; }
  [[nodiscard]] constexpr iterator begin() const noexcept { return {this, 0}; }
  [[nodiscard]] constexpr iterator end() const noexcept { return {this, size()}; }

  template <class T>
  constexpr operator std::span<T>() && {  // NOLINT(google-explicit-constructor)
    static_assert(!sizeof(T),
                  "tq: this view would outlive the temporary it looks into: give the tensor or its "
                  "parameters a name first");
    return {};
  }

 private:
  Owner owner_;
};

template <class Owner, class View>
  requires(!std::is_reference_v<Owner>)
[[nodiscard]] constexpr Kept<Owner, View> kept(Owner&& owner, View) {
  return Kept<Owner, View>(std::move(owner));
}

}  // namespace tq::detail
