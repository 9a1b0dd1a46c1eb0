// SPDX-License-Identifier: MIT
#pragma once
// A stand-in with the members of cv::Mat that tq uses.

#include <cstddef>
#include <utility>
#include <vector>

namespace cv {

class Mat {
 public:
  Mat(int of_depth, int channel_count, std::vector<int> extents, std::vector<std::size_t> steps,
      void* elements)
      : dims(static_cast<int>(extents.size())),
        data(static_cast<unsigned char*>(elements)),
        size(std::move(extents)),
        depth_(of_depth),
        channels_(channel_count),
        steps_(std::move(steps)) {}
  [[nodiscard]] int depth() const { return depth_; }
  [[nodiscard]] int channels() const { return channels_; }
  [[nodiscard]] std::size_t step1(int axis) const { return steps_[static_cast<std::size_t>(axis)]; }

  int dims;
  unsigned char* data;
  struct Sizes {
    explicit Sizes(std::vector<int> of) : all(std::move(of)) {}
    int operator[](int axis) const { return all[static_cast<std::size_t>(axis)]; }
    std::vector<int> all;
  } size;

 private:
  int depth_, channels_;
  std::vector<std::size_t> steps_;
};

template <class T>
class Mat_ : public Mat {
 public:
  using value_type = T;
  using Mat::Mat;
};

}  // namespace cv
