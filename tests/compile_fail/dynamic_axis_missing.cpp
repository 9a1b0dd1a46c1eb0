// expect: no matching function|no match for|deleted|constraints not satisfied
// SPDX-License-Identifier: MIT
#include <tq/core/granularity.hpp>

tq::PerChannel<> granularity;  // which axis?
