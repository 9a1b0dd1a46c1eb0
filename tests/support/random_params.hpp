// SPDX-License-Identifier: MIT
#pragma once
// Parameters drawn at random.

#include <tq/core/make_params.hpp>
#include <tq/core/quant_params.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/inputs.hpp"

namespace test {

/// Scales from 1/64 to 50/64, zero points anywhere among the codes.
template <class Params>
Params random_params(const tq::Shape& shape, typename Params::granularity_type g,
                     inputs::Random& r) {
  const std::size_t slots = tq::param_count(g, shape);
  std::vector<float> scales(slots);
  std::vector<std::int32_t> zeros(Params::has_zero_point ? slots : 0);
  for (float& s : scales) s = static_cast<float>(r.between(1, 50)) / 64;
  for (std::int32_t& z : zeros) z = r.between(Params::codes.min, Params::codes.max);
  return tq::make_params<Params>(g, std::move(scales), std::move(zeros));
}

}  // namespace test
