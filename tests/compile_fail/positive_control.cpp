// expect: compiles
// SPDX-License-Identifier: MIT
#include <tq/core/shape.hpp>

static_assert(tq::Shape{2, 3}.size() == 6);
