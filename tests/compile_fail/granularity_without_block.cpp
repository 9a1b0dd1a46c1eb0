// expect: Granularity
// SPDX-License-Identifier: MIT
#include <tq/core/quant_params.hpp>

struct PerPixel {
  static constexpr std::string_view name = "per_pixel";
  static tq::errc check(const tq::Shape&) noexcept { return tq::errc::ok; }
};
using Params = tq::QuantParams<tq::int8, PerPixel, tq::Symmetric>;
Params* params;
