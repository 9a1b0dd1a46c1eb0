// SPDX-License-Identifier: MIT
#include "common/data_folder.hpp"

std::filesystem::path examples::data_folder() { return TQ_EXAMPLE_DATA; }
