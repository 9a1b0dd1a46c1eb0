// expect: one error: tq needs IEEE arithmetic
// flags: -freciprocal-math
// SPDX-License-Identifier: MIT
#include <tq/config.hpp>
