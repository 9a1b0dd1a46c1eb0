// expect: one error: a macro min or max is defined
// SPDX-License-Identifier: MIT
#include <cstddef>  // libstdc++ takes away those that are defined before its headers

#define min(x, y) ((x) < (y) ? (x) : (y))
#define max(x, y) ((x) > (y) ? (x) : (y))
#include <tq/ops/quantize.hpp>
