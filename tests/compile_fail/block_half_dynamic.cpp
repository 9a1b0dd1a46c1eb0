// expect: both extents static, or both dynamic
// SPDX-License-Identifier: MIT
#include <tq/core/granularity.hpp>

tq::PerBlock<2, tq::dynamic>* granularity;
int rows = granularity->rows();
