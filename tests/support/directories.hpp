// SPDX-License-Identifier: MIT
#pragma once
// Where the tests' data are, and where they write. Only directories.cpp knows the paths, so that
// the objects of all others are the same in every clone, which a compiler cache can make use of.

namespace test {

extern const char* const golden_dir;
extern const char* const output_dir;

}  // namespace test
