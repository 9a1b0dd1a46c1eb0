// SPDX-License-Identifier: MIT
#pragma once
// Ends the tool cleanly when the user, the system or the terminal stops it in the middle of work.

namespace tool {

// From now on every signal that ends the process and can be caught removes the temporary files
// before it does; signals that the caller has ignored, or a sanitizer handles, stay so. A limit of
// the size of files (SIGXFSZ) makes writing an error instead.
void clean_up_when_interrupted();

}  // namespace tool
