// expect: too few arguments|no matching function
// SPDX-License-Identifier: MIT
#include <tq/error.hpp>

void f() { tq::raise(tq::errc::bad_scale); }  // an error without a text
