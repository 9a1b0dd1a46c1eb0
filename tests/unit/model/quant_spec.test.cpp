// SPDX-License-Identifier: MIT
#include <tq/model/quant_spec.hpp>

#include "support/catch.hpp"

#include <type_traits>

using tq::QuantSpec;

namespace {
QuantSpec spec(const char* type, const char* granularity, const char* symmetry = "symmetric") {
  QuantSpec s;
  s.type = type;
  s.granularity = granularity;
  s.symmetry = symmetry;
  return s;
}
}  // namespace

TEST_CASE("specs are equal when they name the same scheme") {
  QuantSpec a, b;
  CHECK(a == b);
  b.axis = 0;  // the default of per_channel
  CHECK(a == b);
  b.axis = 1;
  CHECK_FALSE(a == b);
  b = a;
  b.group_size = 7;  // not used by per_channel
  CHECK(a == b);
  a.granularity = b.granularity = "per_group";
  CHECK_FALSE(a == b);
  b.group_size = a.group_size;
  b.axis = -1;
  CHECK(a == b);
  a.granularity = b.granularity = "per_block";
  b.axis = 5;
  CHECK(a == b);
  b.block_cols = 1;
  CHECK_FALSE(a == b);
  b = a;
  b.numerics = "torch";
  CHECK_FALSE(a == b);
}

TEST_CASE("a static scheme knows its spec") {
  using namespace tq;
  CHECK(spec_of<QuantParams<int4, PerGroup<64, 0>, Asymmetric>>() == [] {
    QuantSpec s = spec("int4", "per_group", "asymmetric");
    s.group_size = 64;
    s.axis = 0;
    return s;
  }());
  CHECK(spec_of(QuantParams<uint8, PerTensor, Asymmetric>(1.0f, 3)) ==
        spec("uint8", "per_tensor", "asymmetric"));
  CHECK(spec_of<QuantParams<int8, PerToken, SymmetricNarrow>>() ==
        spec("int8", "per_token", "symmetric_narrow"));
  const auto channel = spec_of<QuantParams<int8, PerChannel<>, Symmetric>>(PerChannel<>(-3));
  CHECK(channel.axis_or_default() == -3);
  const auto block = spec_of<QuantParams<int8, PerBlock<16, 8>, Symmetric>>();
  CHECK(block.block_rows == 16);
  CHECK(block.block_cols == 8);
}

TEST_CASE("a spec reads as one line") {
  CHECK(to_string(QuantSpec{}) == "int8 per_channel(axis 0) symmetric");
  CHECK(to_string(spec("int4", "per_group")) == "int4 per_group(32, axis -1) symmetric");
  CHECK(to_string(spec("uint8", "per_block", "asymmetric")) ==
        "uint8 per_block(128, 128) asymmetric");
  QuantSpec torch = spec("int8", "per_tensor");
  torch.numerics = "torch";
  CHECK(to_string(torch) == "int8 per_tensor symmetric numerics torch");
}
