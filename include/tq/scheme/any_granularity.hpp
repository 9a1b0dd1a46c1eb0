// SPDX-License-Identifier: MIT
#pragma once
// AnyGranularity: a granularity chosen at run time.

#include <tq/bodies.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/type_list.hpp>

#include <string>
#include <string_view>
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
  TQ_API explicit AnyGranularity(const QuantSpec& spec);

  [[nodiscard]] TQ_API errc check(const Shape& shape) const noexcept;
  [[nodiscard]] TQ_API Shape block(const Shape& shape) const noexcept;
  /// The grid of parameters as a file keeps it: one per tensor is [1], whatever the rank of the
  /// tensor. Precondition: check(shape) is ok.
  [[nodiscard]] TQ_API Shape grid(const Shape& shape) const noexcept;
  /// Throws: what `check` finds, in the name of `function`.
  TQ_API void require(const char* function, const Shape& shape) const;

  /// Sets the granularity that `spec` names to this one.
  TQ_API void describe(QuantSpec& spec) const;
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
[[nodiscard]] TQ_API std::string to_string(const AnyGranularity& granularity);

namespace detail {
template <>
struct granularity_from<AnyGranularity> {
  static AnyGranularity make(const QuantSpec& spec) { return AnyGranularity(spec); }
};
}  // namespace detail

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/scheme/any_granularity.ipp>
#endif
