// expect: the group size is at least 1
// SPDX-License-Identifier: MIT
#include <tq/core/granularity.hpp>

tq::PerGroup<0> granularity;
