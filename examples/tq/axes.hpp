// SPDX-License-Identifier: MIT
#pragma once
// The axes of pictures of histograms.

#include <tq/core/affine_for.hpp>
#include <tq/observe/histogram.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tool {

// Round steps, about `count` of them over the length.
[[nodiscard]] double nice_step(double length, int count);

// The real numbers from one side of a picture to the other: what is shown of what was seen, and
// what codes cover as far as that is not `room` times as much more.
class Horizontal {
 public:
  Horizontal(tq::Range shown, std::span<const tq::Range> covered, double room);
  [[nodiscard]] double lo() const { return lo_; }
  [[nodiscard]] double hi() const { return hi_; }
  // From 0 to 1.
  [[nodiscard]] double at(double x) const;
  [[nodiscard]] bool contains(double x) const { return x >= lo_ && x <= hi_; }

 private:
  double lo_, hi_;
};

// How many values lie to the left and to the right of the picture.
struct Beyond {
  double below = 0, above = 0;
};

// How many values there are in each of so many columns of the picture, those of a bin spread evenly
// over it.
[[nodiscard]] std::vector<double> column_counts(const tq::Histogram& seen, const Horizontal& x,
                                                std::size_t columns, Beyond& beyond);

}  // namespace tool
