// SPDX-License-Identifier: MIT
#pragma once
// Names of files and folders that are not there, and what may have been meant.

#include <tq/store/missing_file.hpp>

namespace tool {

using tq::store::missing_file_hint;
using tq::store::require_there;

}  // namespace tool
