// expect: one error: a macro likely or unlikely is defined
// SPDX-License-Identifier: MIT
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#include <tq/ops/quantize.hpp>
