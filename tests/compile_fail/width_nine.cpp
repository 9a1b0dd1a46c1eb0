// expect: constraint
// SPDX-License-Identifier: MIT
#include <tq/core/element.hpp>

tq::basic_int<9, true> nine;
