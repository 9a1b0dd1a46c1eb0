// SPDX-License-Identifier: MIT
// Tensors in pieces have the bits of whole ones, in every scheme that can be named.
#include <tq/model/encoded_tensor.hpp>
#include <tq/model/named_schemes.hpp>
#include <tq/model/piece_coder.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/share.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

using namespace tq;

namespace {

using Coder = PieceCoder<all_elements, all_scales>;

std::vector<float> data(std::size_t n) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(random) * (random() % 50 == 0 ? 20.0f : 1.0f);
  return x;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

// Calls f(first, count) for pieces of so many elements.
template <class F>
void cut(std::size_t n, std::size_t size, F&& f) {
  for (std::size_t first = 0; first < n; first += size) f(first, std::min(size, n - first));
}

// Whether codes, parameters and values of `whole` come in pieces of so many elements.
bool same_in_pieces(Coder& coder, const std::vector<float>& x, const EncodedTensor& whole,
                    const std::vector<float>& values, std::size_t size, NonFinite non_finite) {
  std::vector<std::byte> codes(whole.codes.size());
  std::vector<float> back(x.size());
  const std::span<const float> from(x);
  coder.start(whole.spec, whole.shape);
  cut(x.size(), size, [&](std::size_t i, std::size_t n) { coder.observe(i, from.subspan(i, n)); });
  coder.fit(non_finite);
  cut(x.size(), size, [&](std::size_t i, std::size_t n) {
    const std::span<std::byte> some =
        std::span(codes).subspan(coder.code_bytes(i), coder.code_bytes(n));
    coder.encode(i, from.subspan(i, n), some);
    coder.decode(i, some, std::span(back).subspan(i, n));
  });
  const EncodedTensor& made = coder.parameters();
  return codes == whole.codes && same_bits(made.scales, whole.scales) &&
         made.zero_points == whole.zero_points && made.stored == whole.stored &&
         same_bits(back, values);
}

struct Tally {
  int schemes = 0, failed = 0;
  std::string failures;
};

void check(Coder& coder, const std::vector<float>& x, const Shape& shape, const QuantSpec& spec,
           Tally& tally, NonFinite non_finite = NonFinite::error) {
  EncodedTensor whole;
  try {
    whole = encode<all_elements, all_scales>(ConstTensorView(x.data(), shape), spec, non_finite);
  } catch (const error&) {
    return;  // not a scheme, or not for this tensor
  }
  ++tally.schemes;
  const std::vector<float> values = decode<all_elements, all_scales>(whole);
  for (const std::size_t size : {std::size_t{8}, std::size_t{104}, std::size_t{1} << 17})
    if (!same_in_pieces(coder, x, whole, values, size, non_finite)) {
      if (++tally.failed <= 5)
        tally.failures += to_string(spec) + " in pieces of " + std::to_string(size) + "\n";
    }
}

template <class... Ts>
std::vector<std::string> names(TypeList<Ts...>) {
  return {std::string(detail::name_of<Ts>)...};
}

// Every granularity, along axes at both ends, with sizes that divide and sizes that do not.
std::vector<QuantSpec> granularities() {
  std::vector<QuantSpec> list;
  const auto add = [&](const char* name, std::optional<int> axis, int size = 32) {
    QuantSpec s;
    s.granularity = name;
    s.axis = axis;
    s.group_size = size;
    s.block_rows = 2;
    s.block_cols = 24;
    list.push_back(s);
  };
  add("per_tensor", std::nullopt);
  add("per_token", std::nullopt);
  add("per_block", std::nullopt);
  for (const int axis : {0, 1, -1}) add("per_channel", axis);
  for (const int axis : {0, -1})
    for (const int size : {3, 16}) add("per_group", axis, size);
  return list;
}

}  // namespace

TEST_CASE("pieces have the bits of the whole tensor in every scheme") {
  const Shape shape{3, 5, 50};
  const std::vector<float> x = data(shape.size());
  Coder coder;
  Tally tally;
  for (const NamedScheme& scheme : named_schemes()) check(coder, x, shape, scheme.spec, tally);
  const std::vector<QuantSpec> all = granularities();
  std::size_t turn = 0;
  test::Share share;
  for (const std::string& type : names(all_elements{}))
    for (const std::string& symmetry : names(detail::all_symmetries{}))
      for (const std::string& scale : names(all_scales{}))
        for (const std::string& numerics : names(detail::all_numerics{}))
          for (int i = 0; i < 2; ++i) {  // of the granularities, two after the others'
            QuantSpec s = all[turn++ % all.size()];
            s.type = type;
            s.symmetry = symmetry;
            s.scale_type = scale;
            s.numerics = numerics;
            if (turn % 7 == 0) s.calibrator = "mean_abs";
            if (!share.takes()) continue;
            check(coder, x, shape, s, tally);
          }
  INFO(tally.failed << " of " << tally.schemes << "\n" << tally.failures);
  CHECK(tally.failed == 0);
  CHECK(tally.schemes > test::rounds(500));
}

TEST_CASE("more blocks than are fitted at a time have the scales of all together") {
  const Shape shape{3, 50000};
  const std::vector<float> x = data(shape.size());
  Coder coder;
  Tally tally;
  for (const char* name : {"nvfp4", "nf4_double", "mxfp4"}) {
    QuantSpec s = *find_scheme(name);
    s.group_size = 8;
    check(coder, x, shape, s, tally);
  }
  QuantSpec s;
  s.type = "uint4";
  s.granularity = "per_group";
  s.group_size = 8;
  s.symmetry = "asymmetric";
  check(coder, x, shape, s, tally);
  s.scale_type = "float16";
  check(coder, x, shape, s, tally);
  INFO(tally.failures);
  CHECK(tally.failed == 0);
  CHECK(tally.schemes == 5);
}

TEST_CASE("tensors of one element, of none and of zeros, and values that are not finite") {
  Coder coder;
  Tally tally;
  std::vector<float> odd = data(300);
  odd[0] = std::numeric_limits<float>::infinity();
  odd[77] = std::numeric_limits<float>::quiet_NaN();
  for (const char* name : {"int4", "uint2", "float8_e4m3fn", "nvfp4", "mxfp4", "nf4_double"}) {
    QuantSpec s;
    if (const QuantSpec* found = find_scheme(name)) s = *found;
    else s.type = name;
    check(coder, {3.5f}, Shape{1, 1}, s, tally);
    check(coder, {}, Shape{0, 4}, s, tally);
    check(coder, std::vector<float>(90), Shape{3, 30}, s, tally);
    check(coder, odd, Shape{3, 100}, s, tally, NonFinite::skip);
    const auto text = test::refused(errc::not_finite, [&] {
      coder.start(s, Shape{3, 100});
      coder.observe(0, std::span<const float>(odd).first(80));
      coder.observe(80, std::span<const float>(odd).subspan(80));
      coder.fit();
    });
    CHECK(test::has(text, "1 NaN and 1 infinite among 300"));
  }
  INFO(tally.failures);
  CHECK(tally.failed == 0);
  CHECK(tally.schemes == 24);
}

TEST_CASE("what is no piece is refused") {
  Coder coder;
  QuantSpec s;
  s.type = "int4";
  coder.start(s, Shape{4, 10});
  const std::vector<float> x(41);
  std::vector<std::byte> codes(20);
  test::raises(errc::bad_argument, {"tq::PieceCoder::observe", "multiple of 8", "8 from 4"},
               [&] { coder.observe(4, std::span<const float>(x).first(8)); });
  test::raises(errc::bad_argument, {"40 elements", "41 from 0"}, [&] { coder.observe(0, x); });
  coder.observe(0, std::span<const float>(x).first(40));
  coder.fit();
  test::raises(errc::shape_mismatch, {"tq::PieceCoder::encode", "8", "got 20"},
               [&] { coder.encode(0, std::span<const float>(x).first(16), codes); });
  std::vector<float> back(16);
  test::raises(errc::shape_mismatch, {"tq::PieceCoder::decode", "8", "got 20"},
               [&] { coder.decode(0, codes, back); });
}

TEST_CASE("parameters from outside are checked") {
  Coder coder;
  coder.start(*find_scheme("nvfp4"), Shape{2, 16});
  coder.parameters().stored.codes = {0x38, 0x40};
  test::raises(errc::bad_argument, {"one tensor scale", "got 0"}, [&] { coder.restore(); });
  coder.parameters().stored.factors = {0.5f};
  coder.restore();
  CHECK(coder.parameters().scales == std::vector<float>{0.5f, 1.0f});
  QuantSpec s;
  s.type = "int8";
  s.granularity = "per_tensor";
  coder.start(s, Shape{4});
  coder.parameters().scales = {1.0f, 2.0f};
  test::raises(errc::shape_mismatch, {"expected 1 scales", "got 2"}, [&] { coder.restore(); });
}
