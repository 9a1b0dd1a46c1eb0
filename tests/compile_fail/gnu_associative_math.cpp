// expect: one error: tq needs IEEE arithmetic
// flags: -fassociative-math -fno-signed-zeros -fno-trapping-math
// SPDX-License-Identifier: MIT
#include <tq/config.hpp>
