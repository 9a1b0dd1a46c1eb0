// SPDX-License-Identifier: MIT
#pragma once
// The page of tq plot: one HTML document that needs nothing else.

#include "observers.hpp"
#include "scalar_quantizer.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// The choice of a calibrator.
struct PlotLine {
  std::string calibrator;
  Levels levels;
  tq::Range covered;  // from the lowest to the highest code
  std::optional<ScalarQuantizer::Estimate> estimate;
};

struct PlotTensor {
  std::string name, observer, granularity;
  std::uint64_t batches = 0;
  Seen seen;                          // all slots
  std::optional<tq::Range> range;     // of slot 0, if it saw anything
  std::optional<tq::Histogram> bins;  // of slot 0
  std::vector<PlotLine> lines;
  std::optional<std::size_t> best;  // the line of the least estimated error
};

struct PlotPage {
  std::string source, type, symmetry;
  std::string origin;  // as ScalarQuantizer::origin
  std::vector<PlotTensor> tensors;
};

[[nodiscard]] std::string to_html(const PlotPage& page);

}  // namespace tool
