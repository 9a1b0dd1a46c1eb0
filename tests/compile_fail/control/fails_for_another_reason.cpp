// expect: cannot convert
// SPDX-License-Identifier: MIT
int wrong = no_such_name;
