// SPDX-License-Identifier: MIT
#include <tq/scheme/quant_spec.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <functional>
#include <type_traits>
#include <unordered_set>
#include <vector>

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

TEST_CASE("specs that are equal have one hash, and every field that counts changes it") {
  std::vector<QuantSpec> specs;
  for (const char* granularity : {"per_tensor", "per_channel", "per_group", "per_block"}) {
    const QuantSpec base = spec("int4", granularity);
    specs.push_back(base);
    const auto add = [&](auto&& change) { change(specs.emplace_back(base)); };
    add([](QuantSpec& s) { s.type = "int8"; });
    add([](QuantSpec& s) { s.symmetry = "asymmetric"; });
    add([](QuantSpec& s) { s.axis = 0; });
    add([](QuantSpec& s) { s.axis = 1; });
    add([](QuantSpec& s) { s.axis = -1; });
    add([](QuantSpec& s) { s.group_size = 33; });
    add([](QuantSpec& s) { s.block_rows = 33; });
    add([](QuantSpec& s) { s.block_cols = 33; });
    add([](QuantSpec& s) { s.scale_type = "float16"; });
    add([](QuantSpec& s) { s.numerics = "torch"; });
    add([](QuantSpec& s) { s.calibrator = "mean_abs"; });
  }
  // So few specs share no hash by chance.
  const std::hash<QuantSpec> hash;
  std::size_t equal = 0;
  for (const QuantSpec& a : specs)
    for (const QuantSpec& b : specs) {
      INFO(to_string(a) << ", " << to_string(b));
      CHECK((hash(a) == hash(b)) == (a == b));
      equal += a == b ? 1 : 0;
    }
  CHECK(equal > specs.size());  // fields that the granularity does not use
  std::unordered_set<QuantSpec> set(specs.begin(), specs.end());
  CHECK(set.contains(spec("int4", "per_block")));
  CHECK_FALSE(set.contains(spec("int5", "per_block")));
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
