// SPDX-License-Identifier: MIT
#pragma once
// An element type and a symmetry that are chosen at run time: from ranges to parameters, and what
// those cost.

#include "observers.hpp"

#include <tq/calibrate/quantizer_grid.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/json/json.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tool {

// Code k stands for (k - zero point) * scale + offset.
using Levels = tq::CodeMap;

// The parameters that fit some ranges.
struct FittedParams {
  tq::io::Json json;  // as tq::io::params_to_json
  std::vector<Levels> levels;
};
// The values of the codes of a slot.
[[nodiscard]] Levels levels_at(const tq::EncodedTensor& parameters, std::size_t slot);
// Type, symmetry and scale type are those of the spec.
[[nodiscard]] FittedParams fitted_params(const tq::QuantSpec& spec,
                                         const tq::AnyGranularity& granularity,
                                         std::span<const tq::Range> ranges);

// Type and symmetry of a spec, as what they do to numbers.
class ScalarQuantizer {
 public:
  explicit ScalarQuantizer(const tq::QuantSpec& spec);

  [[nodiscard]] Levels fit(tq::Range range) const { return grid_.fit(range); }
  // The name of the origin of codes, "zero point" or "offset"; empty where it is always 0.
  [[nodiscard]] const std::string& origin() const { return origin_; }
  // The real numbers of the lowest and the highest code.
  [[nodiscard]] tq::Range covered(const Levels& levels) const;

  // Sums over values; those of a bin are spread evenly over it. Wherever in their bins they lie,
  // the sums are not less and not more than is said.
  struct Estimate {
    double clipped = 0;            // values more than half a step outside of what is covered
    double signal = 0, noise = 0;  // sums of x^2 and (x - x')^2
    double values = 0;
    double least_signal = 0, most_signal = 0, least_noise = 0, most_noise = 0;

    void add(const Estimate& other);
    [[nodiscard]] double clipped_share() const;
    [[nodiscard]] double mse() const;
    [[nodiscard]] double sqnr_db() const;
    [[nodiscard]] double least_sqnr_db() const;
    [[nodiscard]] double most_sqnr_db() const;
  };
  [[nodiscard]] Estimate estimate(const Kept& seen, const Levels& levels) const;

 private:
  tq::QuantizerGrid grid_;
  std::string origin_;
};

}  // namespace tool
