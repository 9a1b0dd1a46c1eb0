// expect: one error: tq needs IEEE arithmetic
// flags: -ffinite-math-only
// SPDX-License-Identifier: MIT
#include <tq/config.hpp>
