// SPDX-License-Identifier: MIT
// Built with flags that let a compiler take numbers for real ones: returns 0 where tq finds that
// out.
#include <tq/core/arithmetic.hpp>

int main() { return tq::ieee_arithmetic() ? 1 : 0; }
