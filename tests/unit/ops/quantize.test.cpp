// SPDX-License-Identifier: MIT
#include "unit/ops/ops_cases.hpp"

#include <array>
#include <vector>

#include "support/error_check.hpp"

namespace {

struct PerMatrix {  // a granularity of the user's own
  static constexpr std::string_view name = "per_matrix";
  static tq::errc check(const tq::Shape& s) noexcept {
    return s.rank() == 3 ? tq::errc::ok : tq::errc::bad_axis;
  }
  static tq::Shape block(const tq::Shape& s) noexcept {
    return {1, std::max<std::size_t>(s[1], 1), std::max<std::size_t>(s[2], 1)};
  }
  friend bool operator==(const PerMatrix&, const PerMatrix&) = default;
};

template <class Type, class G, class S = tq::Symmetric>
using P = tq::QuantParams<Type, G, S>;

}  // namespace

TEST_CASE("every operation, per tensor", "[ops]") {
  ops_cases::check_all<P<tq::int8, tq::PerTensor>>({}, 0, 1);
}

TEST_CASE("every operation, a granularity of the user's own", "[ops]") {
  inputs::Random r(2);
  for (int i = 0; i < 40; ++i) {
    const tq::Shape shape = oracle::shape(r, 3, 700);
    CHECK(ops_cases::check<P<tq::int8, PerMatrix, tq::SymmetricNarrow>>({}, PerMatrix::block(shape),
                                                                        shape[0], shape, r)
              .empty());
  }
}

TEST_CASE("the bytes of packed nibbles", "[ops]") {
  const std::vector<float> x{1, 2, 3, -1, -8};
  const P<tq::int4, tq::PerTensor> p(1.0f);
  const auto low = tq::quantize(x, p);
  const auto high = tq::quantize<tq::HighFirst>(x, p);
  const auto bytes = [](const auto& q) {
    std::vector<int> b;
    for (const std::byte v : q.bytes()) b.push_back(std::to_integer<int>(v));
    return b;
  };
  CHECK(bytes(low) == std::vector<int>{0x21, 0xf3, 0x08});
  CHECK(bytes(high) == std::vector<int>{0x12, 0x3f, 0x80});
  const P<tq::uint2, tq::PerTensor> two(1.0f);
  CHECK(bytes(tq::quantize(x, two)) == std::vector<int>{0b00111001, 0});
  CHECK(bytes(tq::quantize<tq::HighFirst>(x, two)) == std::vector<int>{0b01101100, 0});
  const P<tq::int16, tq::PerTensor> sixteen(1.0f);
  CHECK(bytes(tq::quantize(std::vector<float>{258, -2}, sixteen)) ==
        std::vector<int>{2, 1, 0xfe, 0xff});
}

TEST_CASE("what converts to a view can be quantized", "[ops]") {
  const std::array<float, 3> array{0.4f, 1.6f, -2.5f};
  const P<tq::int8, tq::PerTensor> p(1.0f);
  std::array<std::int8_t, 3> codes{};
  tq::quantize(array, p, codes);
  CHECK(codes == std::array<std::int8_t, 3>{0, 2, -2});
  float raw[2] = {5, 6};
  std::vector<std::int8_t> out(2);
  tq::quantize(raw, p, out);
  CHECK(out == std::vector<std::int8_t>{5, 6});
  // A scalar, and nothing.
  const float one = 7;
  CHECK(tq::quantize(tq::ConstTensorView(&one, {}), p).codes()[0] == 7);
  CHECK(tq::quantize(std::vector<float>{}, p).bytes().empty());
  CHECK(tq::dequantize(tq::quantize(tq::ConstTensorView(nullptr, {0, 3}), p)).empty());
  CHECK(tq::fake_quantize(std::vector<float>{}, p).empty());
}

TEST_CASE("a vector in the place of a tensor keeps its stride", "[ops]") {
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const tq::ConstTensorView m(x.data(), {2, 3});
  const P<tq::int8, tq::PerToken> p({}, {1.0f, 0.5f});
  std::vector<std::int8_t> out(12, 99);
  tq::quantize(m, p, tq::TensorView<std::int8_t>(out.data(), {6}, {2}));
  CHECK(out == std::vector<std::int8_t>{1, 99, 2, 99, 3, 99, 8, 99, 10, 99, 12, 99});
  std::vector<float> real(6), fake(12, -7);
  tq::dequantize(tq::TensorView<const std::int8_t>(out.data(), {6}, {2}), p,
                 tq::TensorView<float>(real.data(), {2, 3}));
  CHECK(real == x);
  tq::fake_quantize(m, p, tq::TensorView<float>(fake.data(), {6}, {2}));
  CHECK(fake == std::vector<float>{1, -7, 2, -7, 3, -7, 4, -7, 5, -7, 6, -7});
}

TEST_CASE("bad input to quantize is refused before anything is written", "[ops]") {
  const std::vector<float> x{1, 2, 3, 4, 5, std::numeric_limits<float>::quiet_NaN()};
  const tq::ConstTensorView m(x.data(), {2, 3});
  const P<tq::int8, tq::PerChannel<0>> p({}, {1.0f, 1.0f});
  std::vector<std::int8_t> out(6, 99), small(5, 99);
  const auto untouched = [&] {
    return out == std::vector<std::int8_t>(6, 99) && small == std::vector<std::int8_t>(5, 99);
  };
  test::raises(tq::errc::shape_mismatch, {"tq::quantize", "expected", "6", "got 5"},
               [&] { tq::quantize(m, p, small); });
  test::raises(tq::errc::shape_mismatch, {"tq::quantize", "[2, 3]", "got [3, 2]"},
               [&] { tq::quantize(m, p, tq::TensorView<std::int8_t>(out.data(), {3, 2})); });
  test::raises(tq::errc::shape_mismatch,
               {"tq::quantize", "per_channel", "[3, 2]", "expects 3", "got 2"},
               [&] { tq::quantize(tq::ConstTensorView(x.data(), {3, 2}), p, out); });
  const P<tq::int8, tq::PerChannel<2>> axis({}, {1.0f, 1.0f});
  test::raises(tq::errc::bad_axis, {"tq::quantize", "per_channel", "[2, 3]"},
               [&] { tq::quantize(m, axis, out); });
  test::raises(tq::errc::bad_axis, {"tq::quantize"}, [&] { (void)tq::quantize(m, axis); });
  const P<tq::int8, tq::PerGroup<>> group(tq::PerGroup<>(0), {1.0f});
  test::raises(tq::errc::bad_group_size, {"tq::quantize", "per_group"},
               [&] { tq::quantize(m, group, out); });
  const tq::Numerics<tq::NearestEven, tq::Divide, tq::RaiseNan> raises;
  test::raises(tq::errc::not_finite, {"tq::quantize", "NaN", "[2, 3]"},
               [&] { tq::quantize(m, p, out, raises); });
  test::raises(tq::errc::not_finite, {"tq::quantize"}, [&] { (void)tq::quantize(m, p, raises); });
  CHECK(untouched());
  tq::QuantizedTensor<P<tq::int8, tq::PerChannel<0>>> other({2, 2}, p);
  test::raises(tq::errc::shape_mismatch, {"tq::quantize", "[2, 3]", "got [2, 2]"},
               [&] { tq::quantize(m, other); });
  // Infinity is no NaN.
  tq::quantize(std::vector<float>{std::numeric_limits<float>::infinity()},
               P<tq::int8, tq::PerTensor>(1.0f), std::span(out).first(1), raises);
  CHECK(out[0] == 127);
}

TEST_CASE("RaiseNan finds every NaN, wherever it lies and whatever lies beside it", "[ops]") {
  const tq::Numerics<tq::NearestEven, tq::Divide, tq::RaiseNan> raises;
  const P<tq::int8, tq::PerTensor> p(1.0f);
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                  infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(300, 1.0f);
  std::vector<std::int8_t> out(300);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = nan;
    x[(i + 7) % 300] = infinity;
    test::raises(tq::errc::not_finite, {"got 1 in", "[300]"},
                 [&] { tq::quantize(x, p, std::span(out), raises); });
    x[i] = x[(i + 7) % 300] = 1.0f;
  }
  x[3] = x[40] = x[41] = nan;
  const std::span<std::int8_t> rows = std::span(out).first(30);
  tq::quantize(tq::ConstTensorView(x.data(), {3, 10}, {100, 4}), p, rows,
               raises);  // 40 is not among the elements of row 0
  test::raises(tq::errc::not_finite, {"got 1 in", "[4, 10]"}, [&] {
    tq::quantize(tq::ConstTensorView(x.data(), {4, 10}, {10, 4}), p, std::span(out).first(40),
                 raises);
  });
  test::raises(tq::errc::not_finite, {"got 3 in", "[30, 10]"}, [&] {
    tq::quantize(tq::ConstTensorView(x.data(), {30, 10}, {1, 30}), p, std::span(out), raises);
  });
  CHECK(std::all_of(out.begin() + 30, out.end(), [](std::int8_t c) { return c == 0; }));
}

TEST_CASE("packed codes in memory of the caller's, there and back", "[ops]") {
  std::vector<float> x(5 * 37);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<int>(i % 19) - 9);
  const tq::ConstTensorView m(x.data(), {5, 37});
  const P<tq::int4, tq::PerChannel<0>> p({}, {1.0f, 0.5f, 2.0f, 1.0f, 3.0f});
  std::vector<std::byte> bytes(93, std::byte{0xee}), high(93), loose(185);
  tq::quantize(m, p, bytes);
  tq::quantize<tq::HighFirst>(m, p, high, tq::serial);
  tq::quantize<tq::Unpacked>(m, p, std::span(loose), tq::on<tq::default_backend>);
  const auto q = tq::quantize(m, p);
  CHECK(std::equal(bytes.begin(), bytes.end(), q.bytes().begin(), q.bytes().end()));
  const std::vector<float> wanted = tq::dequantize(q);
  std::vector<float> y(x.size());
  const tq::TensorView<float> out(y.data(), {5, 37});
  tq::dequantize(bytes, p, out);
  CHECK(y == wanted);
  std::fill(y.begin(), y.end(), 0.0f);
  tq::dequantize<tq::HighFirst>(high, p, out);
  CHECK(y == wanted);
  std::fill(y.begin(), y.end(), 0.0f);
  tq::dequantize<tq::Unpacked>(loose, p, out, tq::serial);
  CHECK(y == wanted);
  std::vector<std::int8_t> codes(x.size());
  tq::quantize(m, p, codes);
  CHECK(tq::dequantize(tq::TensorView<const std::int8_t>(codes.data(), {5, 37}), p) == wanted);

  test::raises(tq::errc::shape_mismatch, {"tq::quantize", "bytes of codes of 93", "got 92"},
               [&] { tq::quantize(m, p, std::span(bytes).first(92)); });
  test::raises(tq::errc::shape_mismatch, {"tq::dequantize", "bytes of codes of 93", "got 92"},
               [&] { tq::dequantize(std::span(bytes).first(92), p, out); });
  test::raises(tq::errc::shape_mismatch, {"tq::dequantize", "expects 37", "got 5"},
               [&] { tq::dequantize(bytes, p, tq::TensorView<float>(y.data(), {37, 5})); });
}
