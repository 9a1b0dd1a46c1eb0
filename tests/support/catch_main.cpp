// SPDX-License-Identifier: MIT
// The main of the tests where Catch2 2 is there as a header only (cross compiling).
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
