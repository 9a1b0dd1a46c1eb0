// expect: Accumulator
// SPDX-License-Identifier: MIT
#include <tq/observe/observer.hpp>

struct Last {
  float value = 0;
  void add(std::span<const float> x) { value = x.back(); }
  bool empty() const { return false; }
};
tq::Observer<Last> observer;
