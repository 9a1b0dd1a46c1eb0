// SPDX-License-Identifier: MIT
#pragma once

template <class A, class B, class C, class D>
inline int seven(int a, int b, int c, int d, int e, int f, int (*g)(int, int)) noexcept {
  return g(a, b) + c + d + e + f;  // (a, b, c, d, e, f, g, h) {
}
template <class T>
int eight(T a, int b, int c, int d = seven<T, T, T, T>(1, 2, 3, 4, 5, 6, nullptr), int e = 0,
          int f = 0, int g = 0, int h = 0) {
  return a + b + c + d + e + f + g + h;
}
