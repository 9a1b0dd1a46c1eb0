// SPDX-License-Identifier: MIT
#pragma once
// KnownParameters: what types say of parameters, so that only loops for such are compiled.

#include <tq/config.hpp>

#include <cstddef>

namespace tq::driver {

/// Nothing, as it stands: a kernel has loops for all parameters then. A sweep must keep what is
/// said.
struct KnownParameters {
  bool is_one = false;         ///< all elements share a parameter
  std::size_t group = 0;       ///< most have groups of so many; others take longer. 0: of any size
  bool has_origins = false;    ///< always
  bool lacks_origins = false;  ///< always
};

/// One scale for all elements.
inline constexpr KnownParameters one_scale{.is_one = true, .lacks_origins = true};

}  // namespace tq::driver
