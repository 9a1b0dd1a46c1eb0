// SPDX-License-Identifier: MIT
#include "support/directories.hpp"

const char* const test::golden_dir = TQ_TEST_GOLDEN_DIR;
const char* const test::output_dir = TQ_TEST_OUTPUT_DIR;
