// SPDX-License-Identifier: MIT
#pragma once
// The version of tq, and the only place it is written: CMake reads it from here.

#define TQ_VERSION_MAJOR 0
#define TQ_VERSION_MINOR 1
#define TQ_VERSION_PATCH 0
