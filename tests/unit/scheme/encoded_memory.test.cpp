// SPDX-License-Identifier: MIT
// How much memory an encoded tensor holds: what the static types hold, codes, scales and zero
// points as they are stored.
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/named_schemes.hpp>

#include "support/catch.hpp"
#include "support/counted_memory.hpp"

#include <cstddef>
#include <string>
#include <vector>

using namespace tq;

namespace {

constexpr std::size_t rows = 256, columns = 1024, elements = rows * columns;

// Bits that a tensor encoded as `spec` holds per element.
double held_bits(const QuantSpec& spec) {
  std::vector<float> x(elements);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<int>(i * 37 % 1009) - 504) / 100;
  const std::ptrdiff_t before = test::held;
  const EncodedTensor e =
      encode<all_elements, all_scales>(ConstTensorView(x.data(), {rows, columns}), spec);
  return 8 * static_cast<double>(test::held - before) / static_cast<double>(elements);
}

void check(const std::string& name, const QuantSpec& spec, double nominal) {
  const double bits = held_bits(spec);
  INFO(name << ": " << bits << " bits a weight, nominal " << nominal);
  CHECK(bits <= 1.01 * nominal);
  CHECK(bits >= 0.99 * nominal);
}

}  // namespace

TEST_CASE("an encoded tensor holds the bits that its format stores") {
  check("mxfp4", named_scheme("mxfp4"), 4.25);
  check("mxfp6_e2m3", named_scheme("mxfp6_e2m3"), 6.25);
  check("nvfp4", named_scheme("nvfp4"), 4.5);
  check("nf4_double", named_scheme("nf4_double"), 4 + 8.0 / 64 + 32.0 / (64 * 256));
  check("nf4", named_scheme("nf4"), 4.5);
  check("int8", named_scheme("int8"), 8 + 32.0 / columns);
  check("float8_e4m3fn", named_scheme("float8_e4m3fn"), 8);
  QuantSpec groups = named_scheme("int4_g32");
  check("int4_g32", groups, 5);
  groups.scale_type = "float16";
  check("int4_g32 of float16", groups, 4.5);
  groups.type = "uint4";
  groups.symmetry = "asymmetric";  // and a zero point of 4 bits
  check("uint4_g32 of float16", groups, 4.5 + 4.0 / 32);
  groups.symmetry = "float_offset";  // Q4_1
  check("uint4_g32 with offsets", groups, 5);
}
