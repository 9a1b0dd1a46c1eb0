// SPDX-License-Identifier: MIT
// A definition of store.hpp that lacks `inline` is in two objects of the program.
#include <tq/store.hpp>
