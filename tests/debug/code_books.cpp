// SPDX-License-Identifier: MIT
// Not run: code books are constant expressions in debug builds as well.
#include <tq/core/codebook.hpp>

#include <cstdint>

static_assert(tq::nf4::format::encode(0.0f) == 7 && tq::nf4::format::encode(2.0f) == 15);
static_assert(tq::dynamic8::format::encode(1.0) == 255);

std::uint32_t code_of(float x);
std::uint32_t code_of(float x) { return tq::iq4_nl::format::encode(x); }
