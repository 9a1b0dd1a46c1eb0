// SPDX-License-Identifier: MIT
#include "program.hpp"

const char* const tool_test::program = TQ_TEST_TOOL;
