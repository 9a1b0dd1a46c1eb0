// SPDX-License-Identifier: MIT
#pragma once
// with: options of operations in any order. An option is told by its type: numerics, an executor, a
// packing, a granularity or a backend.

#include <tq/core/executor.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/packing.hpp>
#include <tq/numeric/numerics.hpp>

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tq {

template <class... Ps>
class Options;

namespace detail {

enum class OptionKind : unsigned {
  numerics,
  executor,
  packing,
  granularity,
  backend,
  bundle,
  none
};

template <class>
inline constexpr bool is_bundle = false;
template <class... Ps>
inline constexpr bool is_bundle<Options<Ps...>> = true;

// `tq::On` of any backend.
template <class P>
concept BackendOption = requires { typename P::backend_type; };

template <class P>
[[nodiscard]] consteval OptionKind kind_of_option() {
  if constexpr (is_bundle<P>) return OptionKind::bundle;
  else if constexpr (NumericsPolicy<P>) return OptionKind::numerics;
  else if constexpr (Packing<P>) return OptionKind::packing;
  else if constexpr (Granularity<P>) return OptionKind::granularity;
  else if constexpr (BackendOption<P>) return OptionKind::backend;
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
/// numerics, an executor, a packing, a granularity, a backend (`tq::on<B>`), or a bundle of these
/// by `tq::with`.
template <class P>
concept Option = detail::option_kind<P> != detail::OptionKind::none;

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
 public:
  static constexpr bool differ = are_different<Ps...>;
  static constexpr bool are_known = ((option_kind<Ps> != OptionKind::none) && ...);
  // True if all are of the kinds `Taken`.
  template <OptionKind... Taken>
  static constexpr bool are_taken =
      ([](OptionKind k) { return ((k == Taken) || ...); }(option_kind<Ps>) && ...);

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

  // The executor, or a serial one; the numerics, or new ones.
  [[nodiscard]] constexpr decltype(auto) executor() const {
    return get<OptionKind::executor, Serial>();
  }
  template <class Default>
  [[nodiscard]] constexpr decltype(auto) numerics() const {
    return get<OptionKind::numerics, Default>();
  }

 private:
  std::tuple<const Ps&...> all_;
};

template <class P>
[[nodiscard]] constexpr auto opened(const P& p) noexcept {
  if constexpr (is_bundle<P>)
    return std::apply([](const auto&... in) { return std::tie(in...); }, p.all());
  else return std::tie(p);
}
template <class... Ps>
Chosen<Ps...> chosen_of(const std::tuple<const Ps&...>&);
// The options of a call that takes the kinds `Taken`; bundles are opened. The assertions stand here
// and not further inside, so that compilers name few places before the one of the call.
template <OptionKind... Taken, class... Ps>
[[nodiscard]] constexpr auto choose(const Ps&... ps) noexcept {
  const auto all = std::tuple_cat(opened(ps)...);
  using Set = decltype(chosen_of(all));
  constexpr bool are_known = Set::are_known, differ = Set::differ;
  constexpr bool is_taken = !are_known || Set::template are_taken<Taken...>;
  static_assert(are_known,
                "tq: options are numerics, an executor (a model of tq::Executor), a packing, a "
                "granularity and a backend; this argument is no option");
  static_assert(is_taken, "tq: this operation takes no option of this kind");
  static_assert(differ, "tq: two options of one kind");
  return Set(all);
}

// The executor among the options of a call that takes no others.
template <class... Ps>
[[nodiscard]] constexpr decltype(auto) executor_of(const Ps&... ps) noexcept {
  return choose<OptionKind::executor>(ps...).template get<OptionKind::executor, Serial>();
}

template <class... Ps>
inline constexpr bool are_options = (Option<Ps> && ...);
// The same of arguments after the first one.
template <class...>
inline constexpr bool rest_are_options = true;
template <class First, class... Ps>
inline constexpr bool rest_are_options<First, Ps...> = are_options<Ps...>;

// The numerics among the options of a call, or `Default`.
template <class Default, class... Ps>
using numerics_among = std::remove_cvref_t<typename decltype(chosen_of(std::tuple_cat(
    opened(std::declval<const Ps&>())...)))::template type<OptionKind::numerics, Default>>;

// `{}` in the place of an option, which deprecated forms take.
struct Placeholder {};
// A value in braces: `{}` or `{64}`. A bare `T` does not convert to it.
template <class T>
struct InBraces {
  T value;
};

}  // namespace detail

}  // namespace tq
