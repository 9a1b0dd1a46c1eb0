// expect: one error: a macro I is defined
// flags: -std=gnu++20
// SPDX-License-Identifier: MIT
#include <complex.h>

#include <tq/ops/quantize.hpp>
