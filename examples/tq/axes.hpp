// SPDX-License-Identifier: MIT
#pragma once
// The axes of pictures of histograms.

#include <tq/core/affine_for.hpp>
#include <tq/observe/histogram.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tool {

// Round steps, about `count` of them over the length, which is above 0.
[[nodiscard]] double nice_step(double length, int count);

// A place on an axis, and the number that is written there.
struct Tick {
  double at = 0;
  std::string label;
};
// Round numbers from `lo` to `hi`, about `count` of them, and never fewer than two; labels have as
// many digits as tell them apart. Precondition: lo < hi, both finite.
[[nodiscard]] std::vector<Tick> ticks_between(double lo, double hi, int count);
// The same of counts from 0 to `most` on a logarithmic axis, which has room for 0 at its foot.
[[nodiscard]] std::vector<Tick> log_ticks(double most);

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
