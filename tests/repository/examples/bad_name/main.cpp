// SPDX-License-Identifier: MIT
// detail:: in a comment is no use.
int main() { return tq::detail::private_thing(); }
