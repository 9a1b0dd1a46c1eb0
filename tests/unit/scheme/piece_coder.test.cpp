// SPDX-License-Identifier: MIT
// Tensors in pieces have the bits of whole ones, in every scheme that can be named.
#include <tq/ops/copy.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/scheme/piece_coder.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/share.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <type_traits>
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

bool same_bits(std::span<const float> a, std::span<const float> b) {
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
  return std::ranges::equal(codes, whole.codes.span()) && made.scales == whole.scales &&
         made.zero_points == whole.zero_points && made.offsets == whole.offsets &&
         same_bits(back, values);
}

struct Tally {
  int schemes = 0, failed = 0;
  std::string failures;
};

void check(Coder& coder, const std::vector<float>& x, const Shape& shape, const QuantSpec& spec,
           Tally& tally, NonFinite non_finite = NonFinite::raise) {
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
  s.symmetry = "float_offset";
  check(coder, x, shape, s, tally);
  INFO(tally.failures);
  CHECK(tally.failed == 0);
  CHECK(tally.schemes == 6);
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
  std::vector<float> back(32);
  const std::vector<std::byte> codes(16);
  test::raises(errc::bad_argument, {"expected scales", "got none"},
               [&] { coder.decode(0, codes, back); });
  StoredParameters stored;
  stored.scales.codes = {0x38, 0x40};
  test::raises(errc::bad_argument, {"one tensor scale", "got 0"}, [&] { coder.restore(stored); });
  stored.scales.factors = {0.5f};
  coder.restore(stored);
  CHECK(coder.parameters().scales.values() == std::vector<float>{0.5f, 1.0f});
  QuantSpec s;
  s.type = "int8";
  s.granularity = "per_tensor";
  coder.start(s, Shape{4});
  stored = {};
  stored.scales.factors = {1.0f, 2.0f};
  test::raises(errc::shape_mismatch, {"expected 1 scales", "got 2"},
               [&] { coder.restore(stored); });
}

namespace {

// Halves and float64 with values that those of float32 may have, and some that they do not.
template <class T>
std::vector<T> narrowed(const std::vector<float>& x) {
  std::vector<T> out(x.size());
  copy(x, TensorView<T>(out.data(), {out.size()}));
  if constexpr (std::same_as<T, double>)
    for (std::size_t i = 0; i < x.size(); ++i) out[i] *= 1 + 0x1p-26 * static_cast<double>(i % 7);
  return out;
}

// That `T` is encoded as the same values of float32, at once and by pieces.
template <class T>
void same_as_floats(const QuantSpec& spec, const Shape& shape, const std::vector<float>& values,
                    std::size_t size) {
  const std::vector<T> x = narrowed<T>(values);
  std::vector<float> floats(x.size());
  copy(x, TensorView<float>(floats));
  const auto encoded = [&](const auto& memory) {
    return encode<all_elements, all_scales>(TensorView(memory.data(), shape), spec,
                                            NonFinite::skip);
  };
  const EncodedTensor wanted = encoded(floats), got = encoded(x);
  INFO(to_string(spec) << " of " << to_string(shape));
  CHECK(std::ranges::equal(got.codes.span(), wanted.codes.span()));
  CHECK(got.scales == wanted.scales);
  CHECK(got.zero_points == wanted.zero_points);
  CHECK(got.offsets == wanted.offsets);
  Coder coder;
  coder.start(spec, shape);
  const std::span<const T> from(x);
  cut(x.size(), size, [&](std::size_t i, std::size_t n) { coder.observe(i, from.subspan(i, n)); });
  coder.fit(NonFinite::skip);
  std::vector<std::byte> codes(wanted.codes.size());
  cut(x.size(), size, [&](std::size_t i, std::size_t n) {
    coder.encode(i, from.subspan(i, n),
                 std::span(codes).subspan(coder.code_bytes(i), coder.code_bytes(n)));
  });
  CHECK(std::ranges::equal(codes, wanted.codes.span()));
  CHECK(coder.parameters().scales == wanted.scales);
  CHECK(coder.parameters().zero_points == wanted.zero_points);
}

}  // namespace

TEST_CASE("halves and float64 are encoded as their values are as float32") {
  const Shape shape{3, 5, 50};
  std::vector<float> x = data(shape.size());
  x[3] = std::numeric_limits<float>::infinity();
  x[99] = std::numeric_limits<float>::quiet_NaN();
  std::size_t turn = 0;
  for (const NamedScheme& scheme : named_schemes()) switch (turn++ % 3) {
      case 0: same_as_floats<float16>(scheme.spec, shape, x, 104); break;
      case 1: same_as_floats<bfloat16>(scheme.spec, shape, x, 8); break;
      default: same_as_floats<double>(scheme.spec, shape, x, 1u << 17);
    }
  for (QuantSpec s : granularities()) {
    s.type = "uint4";
    s.symmetry = turn % 2 == 0 ? "asymmetric" : "float_offset";
    s.calibrator = turn % 3 == 0 ? "mean_abs" : "min_max";
    if (turn++ % 2 == 0) same_as_floats<float16>(s, shape, x, 104);
    else same_as_floats<double>(s, shape, x, 104);
  }
}

TEST_CASE("rows and groups of halves that are longer than what is widened at a time") {
  const Shape shape{2, 20000};
  const std::vector<float> x = data(shape.size());
  QuantSpec s{.type = "int4", .granularity = "per_group", .group_size = 9000};
  same_as_floats<float16>(s, shape, x, 16384);
  s.group_size = 64;
  same_as_floats<bfloat16>(s, shape, x, 40000);
  s.granularity = "per_channel";
  same_as_floats<double>(s, shape, x, 16384);
  s.axis = 1;
  same_as_floats<float16>(s, shape, x, 16384);
  // A view without neighbours, on an executor.
  const std::vector<float16> halves = narrowed<float16>(x);
  std::vector<float> floats(halves.size());
  copy(halves, TensorView<float>(floats));
  const auto turned = [&](const auto& memory) {
    return encode<all_elements, all_scales>(
        TensorView<const std::remove_cvref_t<decltype(memory[0])>>(memory.data(), {20000, 2},
                                                                   {1, 20000}),
        s);
  };
  CHECK(std::ranges::equal(turned(halves).codes.span(), turned(floats).codes.span()));
}

TEST_CASE("NaN and infinities of halves and float64 are counted") {
  const QuantSpec s;
  std::vector<double> x(40, 1.0);
  x[7] = 1e300;  // infinite as float32
  x[8] = std::numeric_limits<double>::quiet_NaN();
  const auto text = test::refused(
      errc::not_finite, [&] { (void)encode(TensorView<const double>(x.data(), {4, 10}), s); });
  CHECK(test::has(text, "1 NaN and 1 infinite among 40"));
  Coder coder;
  coder.start(s, Shape{4, 10});
  coder.observe(0, x);
  test::raises(errc::not_finite, {"1 NaN and 1 infinite among 40"}, [&] { coder.fit(); });
  const std::vector<float16> none;
  CHECK(encode(TensorView<const float16>(none.data(), {0, 4}), s).codes.size() == 0);
}
