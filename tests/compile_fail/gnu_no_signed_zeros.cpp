// expect: one error: tq needs IEEE arithmetic
// flags: -fno-signed-zeros
// SPDX-License-Identifier: MIT
#include <tq/config.hpp>
