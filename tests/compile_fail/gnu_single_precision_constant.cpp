// expect: one error: tq needs IEEE arithmetic
// flags: -fsingle-precision-constant
// SPDX-License-Identifier: MIT
#include <tq/config.hpp>
