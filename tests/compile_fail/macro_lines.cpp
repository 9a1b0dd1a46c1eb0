// expect: one error: a macro lines or columns is defined
// SPDX-License-Identifier: MIT
#define lines (terminal.numbers[2])
#define columns (terminal.numbers[0])
#include <tq/ops/quantize.hpp>
