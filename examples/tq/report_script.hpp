// SPDX-License-Identifier: MIT
#pragma once
// The parts of the page of tq report that are the same on all of them.

namespace tool {

extern const char* const report_style;   // CSS, beside that of all pages
extern const char* const report_notes;   // HTML: how to read the page
extern const char* const report_script;  // makes rows of report_data(), sorts and filters them

}  // namespace tool
