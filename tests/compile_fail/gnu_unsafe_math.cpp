// expect: one error: tq needs IEEE arithmetic
// flags: -funsafe-math-optimizations
// SPDX-License-Identifier: MIT
#include <tq/config.hpp>
