// expect: one error: tq needs IEEE arithmetic
// flags: -ffast-math
// SPDX-License-Identifier: MIT
#include <tq/config.hpp>
