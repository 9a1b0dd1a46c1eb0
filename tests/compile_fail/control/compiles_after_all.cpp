// expect: cannot convert
// SPDX-License-Identifier: MIT
int fine = 1;
