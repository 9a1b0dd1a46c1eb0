// SPDX-License-Identifier: MIT
// Includes everything and asks for nothing.
#include <tq/tq.hpp>
