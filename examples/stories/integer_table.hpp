// SPDX-License-Identifier: MIT
#pragma once
// Effects of integers in place of floats: on the bytes, the output and the speed of the model.

#include "files.hpp"

/// Writes the table; `quick` measures time in fewer rounds. Returns whether all losses are as near
/// to that of float32 as `speakers` says. Throws: tq::error.
bool add_integer_table(const Story& story, bool quick);
