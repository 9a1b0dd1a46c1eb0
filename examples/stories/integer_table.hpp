// SPDX-License-Identifier: MIT
#pragma once
// What integers in place of floats change: bytes, what the model says, and how fast.

#include "files.hpp"

/// Writes the table; `quick` measures time in fewer rounds. Returns whether all losses are as near
/// to that of float32 as `speakers` says. Throws: tq::error.
bool add_integer_table(const Story& story, bool quick);
