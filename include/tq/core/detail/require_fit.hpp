// SPDX-License-Identifier: MIT
#pragma once
// require_fit: parameters that do not fit a tensor are refused.

#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>

#include <cstddef>
#include <string_view>

namespace tq::detail {

// The text is made in a function that is no template, once for all types.
[[noreturn]] inline void refuse_parameters(errc e, const char* function,
                                           std::string_view granularity, const Shape& shape,
                                           std::size_t expected, std::size_t got) {
  raise_text(e, {function, ": the parameters do not fit the tensor: ", granularity, " over shape ",
                 shape.extents(), " expects ", expected, " parameters, got ", got});
}

// Throws what `p.check(shape)` says, naming the function, the parameters and the shape;
// `errc::bad_argument` for extents that memory cannot hold.
template <AnyParams Params>
void require_fit(const char* function, const Params& p, const Shape& shape) {
  static_cast<void>(require_extents(function, shape));
  const errc e = p.check(shape);
  if (e == errc::ok) return;
  require_possible(function, p.granularity(), shape);
  refuse_parameters(e, function, Params::granularity_type::name, shape,
                    param_count(p.granularity(), shape), p.scales().size());
}

}  // namespace tq::detail
