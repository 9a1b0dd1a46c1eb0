// SPDX-License-Identifier: MIT
// Errors and edges; codes and parameters are compared in ops_cases.hpp.
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {
using B = tq::backend::native<tq::arch::scalar>;  // quick to compile
using Rows = tq::QuantParams<tq::int8, tq::PerToken, tq::Asymmetric>;
using Whole = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();
}  // namespace

TEST_CASE("ranges ignore NaN and infinities, codes do not", "[quantize_dynamic]") {
  const std::vector<float> x{not_a_number, -1, 127, inf, -inf};
  const auto q = tq::quantize_dynamic<Whole>(x, tq::on<B>);
  CHECK(q.params() == Whole(1.0f));
  CHECK(std::vector<int>(q.codes().begin(), q.codes().end()) ==
        std::vector<int>{0, -1, 127, 127, -128});
  const auto none = tq::quantize_dynamic<Whole>(std::vector<float>{not_a_number, inf}, tq::on<B>);
  CHECK(none.params() == Whole(1.0f));
}

TEST_CASE("tensors without elements", "[quantize_dynamic]") {
  CHECK(tq::quantize_dynamic<Whole>(std::vector<float>{}, tq::on<B>).params() == Whole(1.0f));
  const auto rows = tq::quantize_dynamic<Rows>(tq::ConstTensorView(nullptr, {3, 0}), tq::on<B>);
  CHECK(rows.bytes().empty());
  CHECK(rows.params().scales().size() == 3);
  CHECK(tq::dequantize(rows, tq::on<B>).empty());
  CHECK(tq::quantize_dynamic<Rows>(tq::ConstTensorView(nullptr, {0, 3}), tq::on<B>)
            .params()
            .scales()
            .empty());
}

TEST_CASE("more short rows than are taken at a time", "[quantize_dynamic]") {
  constexpr std::size_t rows = 2500, length = 3;
  inputs::Random r(5);
  std::vector<float> x(rows * length);
  for (float& v : x) v = static_cast<float>(r.between(-1000, 1000)) / 8;
  const auto together =
      tq::quantize_dynamic<Rows>(tq::ConstTensorView(x.data(), {rows, length}), tq::on<B>);
  std::size_t other = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto alone = tq::quantize_dynamic<Rows>(
        tq::ConstTensorView(x.data() + row * length, {1, length}), tq::on<B>);
    const auto codes = together.codes().subspan(row * length, length);
    other += together.params().scales()[row] != alone.params().scales()[0];
    other += together.params().zero_points()[row] != alone.params().zero_points()[0];
    other += !std::equal(codes.begin(), codes.end(), alone.codes().begin());
  }
  CHECK(other == 0);
}

namespace {
// Packed codes are those of quantize() with the parameters found, by whichever way they come.
template <class Params, class Pack, class Backend>
void check_packed(const tq::Shape& shape, const tq::ConstTensorView& x,
                  typename Params::granularity_type granularity = {}) {
  const auto q = tq::quantize_dynamic<Params, Pack>(x, granularity, tq::on<Backend>);
  const auto expected = tq::quantize<Pack>(x, q.params(), tq::on<Backend>);
  CHECK(std::equal(q.bytes().begin(), q.bytes().end(), expected.bytes().begin(),
                   expected.bytes().end()));
  const std::size_t slots = tq::param_count(granularity, shape);
  std::vector<float> scales(slots);
  std::vector<std::int32_t> zeros(slots);
  using code = typename Params::code_type;
  std::vector<code> codes(shape.size());
  tq::quantize_dynamic<Params>(
      x, tq::detail::dynamic_outputs<Params>(codes, std::span(scales), std::span(zeros)),
      granularity, tq::on<Backend>);
  CHECK(std::equal(scales.begin(), scales.end(), q.params().scales().begin(),
                   q.params().scales().end()));
  CHECK(std::equal(zeros.begin(), zeros.end(), q.params().zero_points().begin(),
                   q.params().zero_points().end()));
  std::vector<std::byte> bytes(q.bytes().size() + 1, std::byte{0x5a});  // and a guard
  tq::quantize_dynamic<Params>(
      x,
      tq::detail::dynamic_outputs<Params>(std::span(bytes).first(q.bytes().size()),
                                          std::span(scales), std::span(zeros)),
      granularity, Pack{}, tq::numerics::onnx{}, test::Threads{}, tq::on<Backend>);
  CHECK(std::equal(q.bytes().begin(), q.bytes().end(), bytes.begin()));
  CHECK(bytes.back() == std::byte{0x5a});
}

template <class Type, class Pack, class Backend>
void check_packings() {
  using tq::Asymmetric;
  inputs::Random r(11);
  std::vector<float> values(64 * 1024);
  for (float& v : values) v = static_cast<float>(r.between(-3000, 3000)) / 16;
  for (const tq::Shape& shape : {tq::Shape{1024, 64}, tq::Shape{7, 96}, tq::Shape{9, 33},
                                 tq::Shape{5, 1}, tq::Shape{3, 0}}) {
    const tq::ConstTensorView x(values.data(), shape);
    const tq::ConstTensorView columns(values.data(), shape,
                                      {1, static_cast<std::ptrdiff_t>(shape[0])});
    for (const tq::ConstTensorView& view : {x, columns}) {
      check_packed<tq::QuantParams<Type, tq::PerToken, Asymmetric>, Pack, Backend>(shape, view);
      check_packed<tq::QuantParams<Type, tq::PerGroup<32>, Asymmetric>, Pack, Backend>(shape, view);
      check_packed<tq::QuantParams<Type, tq::PerChannel<-1>, Asymmetric>, Pack, Backend>(shape,
                                                                                         view);
      check_packed<tq::QuantParams<Type, tq::PerTensor, Asymmetric>, Pack, Backend>(shape, view);
    }
  }
}
}  // namespace

TEST_CASE("packed codes of quantize_dynamic are those of quantize", "[quantize_dynamic]") {
  check_packings<tq::uint4, tq::LowFirst, tq::default_backend>();
  check_packings<tq::uint4, tq::HighFirst, B>();
  check_packings<tq::uint2, tq::LowFirst, B>();
  check_packings<tq::basic_int<3, true>, tq::LowFirst, B>();
  check_packings<tq::uint8, tq::LowFirst, B>();
}

TEST_CASE("bad input to quantize_dynamic is refused before anything is written",
          "[quantize_dynamic]") {
  const std::vector<float> x{1, 2, 3, 4, 5, not_a_number};
  const tq::ConstTensorView m(x.data(), {2, 3});
  std::vector<std::int8_t> out(6, 99);
  std::vector<float> scales(2, -7), three(3, -7);
  std::vector<std::int32_t> zeros(2, -7), one(1, -7);
  const auto run = [&](tq::ConstTensorView v, std::vector<float>& s, std::vector<std::int32_t>& z,
                       std::span<std::int8_t> to) {
    tq::quantize_dynamic<Rows>(v, {.codes = to, .scales = s, .zero_points = z}, tq::on<B>);
  };
  test::raises(tq::errc::shape_mismatch, {"tq::quantize_dynamic", "scales", "2", "got 3"},
               [&] { run(m, three, zeros, out); });
  test::raises(tq::errc::shape_mismatch, {"tq::quantize_dynamic", "zero points", "2", "got 1"},
               [&] { run(m, scales, one, out); });
  test::raises(tq::errc::shape_mismatch, {"tq::quantize_dynamic", "6", "got 5"},
               [&] { run(m, scales, zeros, std::span(out).first(5)); });
  test::raises(tq::errc::bad_axis, {"tq::quantize_dynamic", "per_token", "[]"},
               [&] { run(tq::ConstTensorView(x.data(), {}), scales, zeros, out); });
  using Group = tq::QuantParams<tq::int8, tq::PerGroup<>, tq::Symmetric>;
  test::raises(tq::errc::bad_group_size, {"tq::quantize_dynamic", "per_group"},
               [&] { (void)tq::quantize_dynamic<Group>(m, tq::PerGroup<>(0), tq::on<B>); });
  const tq::Numerics<tq::NearestEven, tq::Divide, tq::RaiseNan> raises;
  test::raises(tq::errc::not_finite, {"tq::quantize_dynamic", "NaN"}, [&] {
    tq::quantize_dynamic<Rows>(m, {.codes = out, .scales = scales, .zero_points = zeros}, raises,
                               tq::on<B>);
  });
  std::vector<std::byte> bytes(6, std::byte{99});
  test::raises(tq::errc::shape_mismatch, {"tq::quantize_dynamic", "bytes of codes of 6", "got 5"},
               [&] {
                 tq::quantize_dynamic<Rows>(m,
                                            {.codes = std::span(bytes).first(5),
                                             .scales = std::span(scales),
                                             .zero_points = std::span(zeros)},
                                            tq::on<B>);
               });
  CHECK(bytes == std::vector<std::byte>(6, std::byte{99}));
  CHECK(out == std::vector<std::int8_t>(6, 99));
  CHECK(scales == std::vector<float>(2, -7));
  CHECK(zeros == std::vector<std::int32_t>(2, -7));
}

TEST_CASE("a row without a usable scale raises where the policy says so", "[quantize_dynamic]") {
  const std::vector<float> x{1, 2, 0, 0};
  const tq::ConstTensorView m(x.data(), {2, 2});
  const tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleRaises> raises;
  test::raises(tq::errc::bad_scale, {"tq::ScaleRaises"},
               [&] { (void)tq::quantize_dynamic<Rows>(m, raises, tq::on<B>); });
  // The error leaves the executor's threads alone.
  test::raises(tq::errc::bad_scale, {"tq::ScaleRaises"},
               [&] { (void)tq::quantize_dynamic<Rows>(m, raises, test::Threads{}, tq::on<B>); });
  std::vector<std::int8_t> out(4, 99);
  std::vector<float> scales(2);
  std::vector<std::int32_t> zeros(2);
  test::raises(tq::errc::bad_scale, {"tq::ScaleRaises"}, [&] {
    tq::quantize_dynamic<Rows>(m,
                               {.codes = tq::TensorView<std::int8_t>(out.data(), {2, 2}),
                                .scales = scales,
                                .zero_points = zeros},
                               raises, tq::on<B>);
  });
  CHECK(out == std::vector<std::int8_t>(4, 99));
}

TEST_CASE("few ranges of a large tensor are found on threads too", "[quantize_dynamic]") {
  constexpr std::size_t rows = 701, cols = 600;
  std::vector<float> x = inputs::normals(rows * cols, 12);
  x[13] = 50.0f;
  x[rows * cols - 7] = -60.0f;
  const tq::ConstTensorView view(x.data(), {rows, cols});
  const auto check = [&]<class Params>(Params*) {
    const auto alone = tq::quantize_dynamic<Params>(view);
    CHECK(alone == tq::quantize_dynamic<Params>(view, test::Threads{}));
    CHECK(alone == tq::quantize(view, alone.params()));
  };
  using OneRange = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
  check(static_cast<OneRange*>(nullptr));
  check(static_cast<tq::QuantParams<tq::int4, tq::PerChannel<-1>, tq::Symmetric>*>(nullptr));
  CHECK(tq::quantize_dynamic<OneRange>(view, test::Threads{}).params().scales()[0] ==
        static_cast<float>(110.0 / 255));
}

namespace {

// Rows of two values whose ranges are tiny, ordinary or next to the largest float, in one call.
template <class T, class S, class N>
void check_rows(std::uint64_t seed) {
  using Params = tq::QuantParams<T, tq::PerToken, S>;
  constexpr float most = std::numeric_limits<float>::max();
  constexpr std::size_t rows = 333;
  inputs::Random r(seed);
  std::vector<float> x(2 * rows);
  for (float& v : x) {
    const float size = inputs::scale(r);
    v = r.chance(10) ? most : r.chance(5) ? 0.0f : size;
    if (r.chance(50)) v = -v;
  }
  const auto q = tq::quantize_dynamic<Params, tq::Unpacked>(
      tq::ConstTensorView(x.data(), {rows, 2}), N{}, tq::on<B>);
  const std::vector<float> back = tq::dequantize(q);
  int failed = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto [low, high] = std::minmax(x[2 * i], x[2 * i + 1]);
    failed += !(q.params().affine(i) == tq::affine_for<T, S, N>({low, high}));
    failed += !(std::abs(back[2 * i]) <= most) || !(std::abs(back[2 * i + 1]) <= most);
  }
  INFO(T::name << ' ' << S::name);
  CHECK(failed == 0);
}
template <class N>
void check_symmetries() {
  check_rows<tq::uint8, tq::Asymmetric, N>(1);
  check_rows<tq::int8, tq::Asymmetric, N>(2);
  check_rows<tq::int8, tq::Symmetric, N>(3);
  check_rows<tq::int4, tq::SymmetricNarrow, N>(4);
  check_rows<tq::uint8, tq::SymmetricHalfDown, N>(5);
  check_rows<tq::int16, tq::Asymmetric, N>(6);
}

}  // namespace

TEST_CASE("many ranges at once have the parameters of each, and stay finite",
          "[quantize_dynamic]") {
  check_symmetries<tq::numerics::onnx>();
  check_symmetries<tq::numerics::torch>();
  check_symmetries<tq::numerics::exact>();
}
