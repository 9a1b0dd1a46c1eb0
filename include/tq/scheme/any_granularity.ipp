// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/scheme/any_granularity.hpp.

#include <tq/core/detail/with_alternative.hpp>
#include <tq/core/granularity.hpp>
#include <tq/scheme/any_granularity.hpp>

#include <type_traits>

namespace tq {

TQ_API AnyGranularity::AnyGranularity(const QuantSpec& spec) {
  detail::require_valid("tq::AnyGranularity", spec);
  set(spec, detail::all_granularities{});
}

TQ_API errc AnyGranularity::check(const Shape& shape) const noexcept {
  return detail::with_alternative(chosen_, [&](const auto& g) { return g.check(shape); });
}

TQ_API Shape AnyGranularity::block(const Shape& shape) const noexcept {
  return detail::with_alternative(chosen_, [&](const auto& g) { return g.block(shape); });
}

TQ_API Shape AnyGranularity::grid(const Shape& shape) const noexcept {
  return std::holds_alternative<PerTensor>(chosen_) ? Shape{1} : param_shape(*this, shape);
}

TQ_API void AnyGranularity::require(const char* function, const Shape& shape) const {
  detail::with_alternative(chosen_,
                           [&](const auto& g) { detail::require_possible(function, g, shape); });
}

TQ_API void AnyGranularity::describe(QuantSpec& spec) const {
  detail::with_alternative(chosen_, [&](const auto& g) {
    spec.granularity = std::decay_t<decltype(g)>::name;
    detail::describe_granularity(g, spec);
  });
}

TQ_API std::string to_string(const AnyGranularity& granularity) {
  QuantSpec spec;
  granularity.describe(spec);
  return detail::granularity_text(spec);
}

}  // namespace tq
