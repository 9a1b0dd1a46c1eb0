// expect: constraint
// SPDX-License-Identifier: MIT
#include <tq/core/codebook.hpp>
#include <tq/ops/cast.hpp>

#include <span>

void cast(std::span<const float> x, std::span<std::uint8_t> codes);
void cast(std::span<const float> x, std::span<std::uint8_t> codes) {
  tq::cast_to<tq::nf4>(x, codes, tq::Numerics<tq::Stochastic>{});
}
