// SPDX-License-Identifier: MIT
#pragma once

namespace tool_test {

/// The path of the tool that was built.
extern const char* const program;

}  // namespace tool_test
