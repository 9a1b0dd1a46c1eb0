// SPDX-License-Identifier: MIT
#pragma once
// AnyGranularity: a granularity chosen at run time.

#include <tq/core/detail/with_alternative.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/type_list.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace tq {

namespace detail {
template <class List>
struct variant_of;
template <class... Ts>
struct variant_of<TypeList<Ts...>> {
  using type = std::variant<Ts...>;
};
}  // namespace detail

/// The granularity that a `QuantSpec` names, as a value. Code that only needs the blocks is then
/// instantiated once, not once for every granularity.
class AnyGranularity {
 public:
  static constexpr std::string_view name = "any";

  /// Per tensor.
  AnyGranularity() = default;
  /// Throws: as `visit` for a name that does not exist and sizes out of range.
  explicit AnyGranularity(const QuantSpec& spec) {
    detail::require_valid("tq::AnyGranularity", spec);
    set(spec, detail::all_granularities{});
  }

  [[nodiscard]] errc check(const Shape& shape) const noexcept {
    return detail::with_alternative(chosen_, [&](const auto& g) { return g.check(shape); });
  }
  [[nodiscard]] Shape block(const Shape& shape) const noexcept {
    return detail::with_alternative(chosen_, [&](const auto& g) { return g.block(shape); });
  }
  /// The grid of parameters as a file keeps it: one per tensor is [1], whatever the rank of the
  /// tensor. Precondition: check(shape) is ok.
  [[nodiscard]] Shape grid(const Shape& shape) const noexcept {
    return std::holds_alternative<PerTensor>(chosen_) ? Shape{1} : param_shape(*this, shape);
  }
  /// Throws: what `check` finds, in the name of `function`.
  void require(const char* function, const Shape& shape) const {
    detail::with_alternative(chosen_,
                             [&](const auto& g) { detail::require_possible(function, g, shape); });
  }

  /// Sets the granularity that `spec` names to this one.
  void describe(QuantSpec& spec) const {
    detail::with_alternative(chosen_, [&](const auto& g) {
      spec.granularity = std::decay_t<decltype(g)>::name;
      detail::describe_granularity(g, spec);
    });
  }
  friend bool operator==(const AnyGranularity&, const AnyGranularity&) = default;

 private:
  template <class... Gs>
  void set(const QuantSpec& spec, TypeList<Gs...>) {
    (void)((Gs::name == spec.granularity &&
            (chosen_ = detail::granularity_from<Gs>::make(spec), true)) ||
           ...);
  }

  detail::variant_of<detail::all_granularities>::type chosen_;
};

/// "per_group(32, axis -1)": for tables and messages.
[[nodiscard]] inline std::string to_string(const AnyGranularity& granularity) {
  QuantSpec spec;
  granularity.describe(spec);
  return detail::granularity_text(spec);
}

namespace detail {
template <>
struct granularity_from<AnyGranularity> {
  static AnyGranularity make(const QuantSpec& spec) { return AnyGranularity(spec); }
};
}  // namespace detail

}  // namespace tq
