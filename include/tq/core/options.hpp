// SPDX-License-Identifier: MIT
#pragma once
// with: options of operations in any order. An option is told by its type: numerics, an executor, a
// packing or a granularity.

#include <tq/core/executor.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/packing.hpp>
#include <tq/numeric/numerics.hpp>

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>

namespace tq {

template <class... Ps>
class Options;

namespace detail {

enum class OptionKind : unsigned { numerics, executor, packing, granularity, bundle, none };

template <class>
inline constexpr bool is_bundle = false;
template <class... Ps>
inline constexpr bool is_bundle<Options<Ps...>> = true;

template <class P>
[[nodiscard]] consteval OptionKind kind_of_option() {
  if constexpr (is_bundle<P>) return OptionKind::bundle;
  else if constexpr (NumericsPolicy<P>) return OptionKind::numerics;
  else if constexpr (Packing<P>) return OptionKind::packing;
  else if constexpr (Granularity<P>) return OptionKind::granularity;
  else if constexpr (Executor<P>) return OptionKind::executor;
  else return OptionKind::none;
}
template <class P>
inline constexpr OptionKind option_kind = kind_of_option<std::remove_cvref_t<P>>();

// The place of the first option of kind K, or the number of options.
template <OptionKind K, class... Ps>
inline constexpr std::size_t place_of = [] {
  std::size_t place = 0;
  static_cast<void>(((option_kind<Ps> == K || (++place, false)) || ...));
  return place;
}();

template <class... Ps>
inline constexpr bool are_different = [] {
  unsigned seen = 0;
  bool different = true;
  for (const OptionKind k : {OptionKind::none, option_kind<Ps>...}) {
    const unsigned bit = k == OptionKind::none ? 0u : 1u << static_cast<unsigned>(k);
    different = different && (seen & bit) == 0;
    seen |= bit;
  }
  return different;
}();

}  // namespace detail

/// An argument that operations take after their tensors, in any order, at most one of a kind:
/// numerics, an executor, a packing, a granularity, or a bundle of these by `tq::with`.
template <class P>
concept Option = detail::option_kind<P>
!= detail::OptionKind::none;

/// Several options as one argument; `tq::with` makes it.
template <class... Ps>
class Options {
  static_assert(detail::are_different<Ps...>, "tq::with: two options of one kind");

 public:
  constexpr explicit Options(const Ps&... ps) : all_(ps...) {}
  [[nodiscard]] constexpr const std::tuple<Ps...>& all() const noexcept { return all_; }

 private:
  [[no_unique_address]] std::tuple<Ps...> all_;
};

/// Options to use again: `const auto fast = tq::with(numerics::torch{}, OpenMp{});`.
template <Option... Ps>
requires(!detail::is_bundle<Ps> && ...)
    [[nodiscard]] constexpr Options<Ps...> with(const Ps&... ps) {
  return Options<Ps...>(ps...);
}

namespace detail {

// The options of a call, by kind.
template <class... Ps>
class Chosen {
  static_assert(are_different<Ps...>, "tq: two options of one kind");

 public:
  constexpr explicit Chosen(const std::tuple<const Ps&...>& all) noexcept : all_(all) {}

  template <OptionKind K>
  static constexpr bool has = place_of<K, Ps...> < sizeof...(Ps);

  // The option of kind K, or a new `Default`.
  template <OptionKind K, class Default>
  [[nodiscard]] constexpr decltype(auto) get() const {
    if constexpr (has<K>) return (std::get<place_of<K, Ps...>>(all_));
    else return Default{};
  }
  template <OptionKind K, class Default>
  using type = std::tuple_element_t<place_of<K, Ps...>, std::tuple<Ps..., Default>>;

 private:
  std::tuple<const Ps&...> all_;
};

template <class P>
[[nodiscard]] constexpr auto opened(const P& p) noexcept {
  if constexpr (is_bundle<P>)
    return std::apply([](const auto&... in) { return std::tie(in...); }, p.all());
  else return std::tie(p);
}
// The options of a call that takes the kinds `Taken`; bundles are opened.
template <OptionKind... Taken, class... Ps>
[[nodiscard]] constexpr auto choose(const Ps&... ps) noexcept {
  const auto all = std::tuple_cat(opened(ps)...);
  return []<class... Qs>(const std::tuple<const Qs&...>& opened_all) {
    constexpr bool is_taken =
        ([](OptionKind k) { return ((k == Taken) || ...); }(option_kind<Qs>)&&...);
    static_assert(is_taken, "tq: this operation takes no option of this kind");
    return Chosen<Qs...>(opened_all);
  }(all);
}

// Options that the signatures with numerics and executor in their places do not take.
template <class... Ps>
inline constexpr bool are_in_place = false;
template <class N>
inline constexpr bool are_in_place<N> = option_kind<N> == OptionKind::numerics;
template <class N, class E>
inline constexpr bool are_in_place<N, E> =
    option_kind<N> == OptionKind::numerics&& option_kind<E> == OptionKind::executor;

template <class... Ps>
concept FreeOptions = sizeof...(Ps) > 0 && (Option<Ps> && ...) && !are_in_place<Ps...>;

// Options that do not begin with a granularity, for functions whose other signatures have its
// place.
template <class... Ps>
concept RangeOptions = sizeof...(Ps) > 0 &&
                       (Option<Ps> && ...) && place_of<OptionKind::granularity, Ps...> != 0;

}  // namespace detail

}  // namespace tq
