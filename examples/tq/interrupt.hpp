// SPDX-License-Identifier: MIT
#pragma once
// What happens when the user, the system or the terminal ends the tool in the middle of its work.

namespace tool {

// From now on SIGINT, SIGTERM and SIGHUP remove the temporary files before they end the process, as
// they would have; signals that the caller has ignored stay so.
void clean_up_when_interrupted();

}  // namespace tool
