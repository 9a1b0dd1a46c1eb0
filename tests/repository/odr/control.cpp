// SPDX-License-Identifier: MIT
// A mistake that the test must find.
#include <tq/ops/cast.hpp>

#include <cstdint>
#include <span>

inline void forgotten(std::span<const float> x, std::span<std::uint16_t> out) {
  tq::cast_to<tq::bfloat16>(x, out);  // by the default backend, which the name does not say
}

extern "C" void control(const float* x, std::uint16_t* out, std::size_t n);
extern "C" void control(const float* x, std::uint16_t* out, std::size_t n) {
  forgotten({x, n}, {out, n});
}
