// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/scheme/encoded_tensor.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/extents.hpp"
#include "support/thread_executor.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace tq;

namespace {

std::vector<float> data(std::size_t n, float shift = 0) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(random) + shift;
  return x;
}

QuantSpec spec(const char* type, const char* granularity, const char* symmetry) {
  QuantSpec s;
  s.type = type;
  s.granularity = granularity;
  s.symmetry = symmetry;
  return s;
}

// The static way and the run-time way give the same bits.
template <class Params, class N = numerics::onnx>
void same_as_static(ConstTensorView x, const char* preset = "onnx") {
  const auto params = calibrate<Params>(x, N{});
  const auto q = quantize(x, params, N{});
  QuantSpec s = spec_of(params);
  s.numerics = preset;
  const EncodedTensor e = encode(x, s);
  INFO(to_string(s));
  CHECK(std::ranges::equal(e.codes.span(), q.bytes()));
  CHECK(std::ranges::equal(e.scales.values(), params.scales()));
  if constexpr (Params::has_zero_point)
    CHECK(std::ranges::equal(e.zero_points.values(), params.zero_points()));
  else CHECK(e.zero_points.empty());
  if constexpr (OffsetParams<Params>)
    CHECK(std::ranges::equal(e.offsets.values(), params.offsets()));
  else CHECK(e.offsets.empty());
  CHECK(decode(e) == dequantize(q));
  const EncodedLayout layout = encoded_layout(s, x.shape());
  CHECK(layout.code_bytes == e.codes.size());
  CHECK(layout.scales.size() == e.scales.size());
  CHECK(layout.has_offsets == OffsetParams<Params>);
}

std::pair<std::vector<std::byte>, std::vector<float>> codes_and_scales(const EncodedTensor& e) {
  return {{e.codes.span().begin(), e.codes.span().end()}, e.scales.values()};
}

using test::has;
using test::refused;

}  // namespace

TEST_CASE("encode gives the bits of calibrate and quantize, decode those of dequantize") {
  const std::vector<float> x = data(7 * 45, 0.3f);
  const ConstTensorView view(x.data(), {7, 45});
  same_as_static<QuantParams<int8, PerTensor, Symmetric>>(view);
  same_as_static<QuantParams<int8, PerChannel<0>, SymmetricNarrow>>(view);
  same_as_static<QuantParams<uint8, PerChannel<1>, Asymmetric>>(view);
  same_as_static<QuantParams<int4, PerGroup<32, -1>, Symmetric>>(view);
  same_as_static<QuantParams<int4, PerGroup<4, 0>, Asymmetric>>(view);
  same_as_static<QuantParams<uint4, PerToken, Asymmetric>>(view);
  same_as_static<QuantParams<int3, PerBlock<2, 16>, Asymmetric>>(view);
  same_as_static<QuantParams<int2, PerToken, SymmetricNarrow>>(view);
  same_as_static<QuantParams<uint5, PerTensor, Asymmetric>>(view);
  same_as_static<QuantParams<int7, PerTensor, Symmetric>>(view);
  same_as_static<QuantParams<int16, PerTensor, Symmetric>>(view);
  same_as_static<QuantParams<uint16, PerChannel<0>, Asymmetric>>(view);
  same_as_static<QuantParams<uint8, PerTensor, Symmetric>>(view);
  same_as_static<QuantParams<int8, PerChannel<0>, SymmetricHalf>>(view);
  same_as_static<QuantParams<uint4, PerGroup<32, -1>, SymmetricHalf>>(view);
  same_as_static<QuantParams<uint8, PerTensor, SymmetricHalf>, numerics::torch>(view, "torch");
  same_as_static<QuantParams<int8, PerChannel<0>, Symmetric>, numerics::torch>(view, "torch");
  same_as_static<QuantParams<uint4, PerGroup<32, -1>, FloatOffset>>(view);
  same_as_static<QuantParams<int8, PerTensor, FloatOffset>>(view);
  same_as_static<QuantParams<uint3, PerChannel<1>, FloatOffset>, numerics::torch>(view, "torch");
  // a transposed source
  same_as_static<QuantParams<int4, PerGroup<4, -1>, Asymmetric>>(
      ConstTensorView(x.data(), {45, 7}, {1, 45}));
}

TEST_CASE("packed codes are those of the static types, whatever their width and tail") {
  const std::vector<float> x = data(3 * 8300, 0.3f);
  const auto check = [](ConstTensorView view) {
    same_as_static<QuantParams<int2, PerToken, SymmetricNarrow>>(view);
    same_as_static<QuantParams<uint3, PerChannel<1>, FloatOffset>, numerics::torch>(view, "torch");
    same_as_static<QuantParams<int4, PerGroup<32, -1>, Symmetric>>(view);
    same_as_static<QuantParams<int4, PerGroup<5, -1>, Symmetric>>(view);
    same_as_static<QuantParams<uint5, PerTensor, Asymmetric>>(view);
    same_as_static<QuantParams<int6, PerTensor, Symmetric>>(view);
    same_as_static<QuantParams<int7, PerTensor, Symmetric>>(view);
  };
  for (std::size_t n = 1; n <= 40; ++n) check({x.data(), {3, n}});
  for (const std::size_t n : {8184u, 8192u, 8193u, 8200u, 8231u}) {  // about the end of a tile
    check({x.data(), {1, n}});
    check({x.data(), {3, n}});
  }
  check({x.data(), {16, 24}, {40, 1}});  // with gaps
  check({x.data(), {24, 16}, {1, 40}});  // turned
  check({x.data(), {3, 2000}, {4000, 2}});
}

TEST_CASE("packed codes do not depend on the executor") {
  constexpr std::size_t rows = 40, columns = 8200;
  const std::vector<float> x = data(rows * columns);
  for (const char* granularity : {"per_tensor", "per_channel", "per_group"})
    for (const char* type : {"int4", "uint3"}) {
      QuantSpec s = spec(type, granularity, "asymmetric");
      s.group_size = 41;
      for (const ConstTensorView& view : {ConstTensorView(x.data(), {rows, columns}),
                                          ConstTensorView(x.data(), {columns, rows}, {1, columns})})
        CHECK(codes_and_scales(encode(view, s, NonFinite::raise, test::Backwards{})) ==
              codes_and_scales(encode(view, s)));
    }
}

TEST_CASE("packed codes of many pieces decode as the static types, whatever the executor") {
  const std::vector<float> x = data(3 * 50001);  // pieces end inside rows and groups
  const ConstTensorView view(x.data(), {3, 50001});
  same_as_static<QuantParams<uint4, PerGroup<24, -1>, Asymmetric>>(view);
  same_as_static<QuantParams<int3, PerChannel<1>, SymmetricNarrow>>(view);
  const EncodedTensor e = encode(view, spec("uint3", "per_channel", "asymmetric"));
  std::vector<float> out(x.size());
  decode(e, std::span(out), test::Backwards{});
  CHECK(out == decode(e));
}

TEST_CASE("a code that the symmetry does not use, in the last piece, leaves the output as it was") {
  const std::vector<float> x = data(200000);
  EncodedTensor e =
      encode(ConstTensorView(x.data(), {x.size()}), spec("int4", "per_tensor", "symmetric_narrow"));
  e.codes.span().back() = std::byte{0x88};  // two of -8
  std::vector<float> out(x.size(), 7.0f);
  CHECK(has(refused(errc::bad_argument, [&] { decode(e, std::span(out)); }), "[-7, 7]"));
  CHECK(std::ranges::count(out, 7.0f) == 200000);
}

TEST_CASE("tensors of any shape, empty ones and scalars, go there and back") {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{0, 4}, Shape{4, 0}, Shape{3, 0, 5},
                             Shape{2, 3, 4}, Shape{1, 1, 1, 1, 1, 1, 1, 9}})
    for (const char* granularity :
         {"per_tensor", "per_channel", "per_group", "per_token", "per_block"})
      for (const char* type : {"int2", "int4", "int8", "uint16", "uint3"}) {
        const QuantSpec s = spec(type, granularity, "asymmetric");
        INFO(to_string(shape) << " " << to_string(s));
        const std::vector<float> x = data(shape.size());
        const ConstTensorView view(x.data(), shape);
        const bool fits =
            s.granularity == "per_tensor" || shape.rank() >= (s.granularity == "per_block" ? 2 : 1);
        if (!fits) {
          refused(errc::bad_axis, [&] { (void)encode(view, s); });
          continue;
        }
        const EncodedTensor e = encode(view, s);
        const std::vector<float> y = decode(e), scales = e.scales.values();
        REQUIRE(y.size() == x.size());
        const float top = scales.empty() ? 0 : *std::max_element(scales.begin(), scales.end());
        for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(std::abs(x[i] - y[i]) <= top * 0.5001f);
      }
  CHECK(encode(ConstTensorView(nullptr, {0, 3}), spec("int8", "per_tensor", "symmetric"))
            .scales.values() == std::vector<float>{1.0f});
}

TEST_CASE("zeros stay zeros") {
  const std::vector<float> zeros(64);
  for (const char* symmetry : {"symmetric", "asymmetric"}) {
    const auto e =
        encode(ConstTensorView(zeros.data(), {4, 16}), spec("int4", "per_group", symmetry));
    CHECK(e.scales.values() == std::vector<float>(4, 1.0f));
    CHECK(decode(e) == zeros);
  }
}

TEST_CASE("NaN and infinities are refused and counted, or skipped") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x{1, nan, -2, inf, nan, nan, nan, -inf};
  const ConstTensorView view(x.data(), {2, 4});
  const QuantSpec s = spec("int8", "per_channel", "symmetric");
  CHECK(has(refused(errc::not_finite, [&] { (void)encode(view, s); }),
            "got 4 NaN and 2 infinite among 8"));
  const EncodedTensor e = encode(view, s, NonFinite::skip);
  CHECK(e.scales.values() == std::vector<float>{2.0f / 127, 1.0f});
  const std::vector<float> y = decode(e);
  CHECK(y[1] == 0);
  CHECK(std::abs(y[2] + 2) < 1e-6f);
  CHECK(std::abs(y[3] - 2) < 1e-6f);
  CHECK(y[4] == 0);
  CHECK(y[7] == -128);  // the lowest code at scale 1
}

TEST_CASE("the layout counts scales and zero points") {
  // int4 in groups of 32: 4 + 32 / 32 bits with a scale of float32, 5.25 with zero points of a
  // byte.
  const Shape shape{64, 64};
  CHECK(encoded_layout(spec("int4", "per_group", "symmetric"), shape).bytes() * 8 == 64 * 64 * 5);
  CHECK(encoded_layout(spec("int4", "per_group", "asymmetric"), shape).bytes() * 8 ==
        64 * 64 * 5 + 64 * 64 / 4);
  const auto wide = encoded_layout(spec("uint16", "per_channel", "asymmetric"), shape);
  CHECK(wide.bytes() == 64 * 64 * 2 + 64 * 6);
  CHECK(wide.scales == Shape{64, 1});
  CHECK(encoded_layout(spec("uint4", "per_group", "float_offset"), shape).bytes() * 8 ==
        64 * 64 * 6);  // offsets are as wide as scales
  CHECK(encoded_layout(spec("int8", "per_tensor", "symmetric"), shape).scales == Shape{1});
}

TEST_CASE("damaged parts are refused before anything is read") {
  const std::vector<float> x = data(64);
  const EncodedTensor good =
      encode(ConstTensorView(x.data(), {4, 16}), spec("int4", "per_channel", "asymmetric"));
  const auto refuse = [&](errc code, auto&& damage) {
    EncodedTensor bad = good;
    damage(bad);
    return refused(code, [&] { (void)decode(bad); });
  };
  CHECK(has(refuse(errc::shape_mismatch, [](auto& t) { t.scales = Scales<float>{1, 2, 3}; }),
            "expected 4 scales for shape [4, 16] as int4 per_channel(axis 0) asymmetric, got 3"));
  CHECK(has(refuse(errc::shape_mismatch, [](auto& t) { t.codes = Buffer<std::byte>(31); }),
            "expected 32 bytes of codes"));
  CHECK(has(refuse(errc::shape_mismatch, [](auto& t) { t.zero_points = {}; }), "zero points"));
  const auto zero_points = [](auto type) {
    const std::vector<std::int32_t> four(4);
    return ZeroPoints<decltype(type)>(std::span<const std::int32_t>(four));
  };
  CHECK(has(refuse(errc::bad_argument, [&](auto& t) { t.zero_points = zero_points(uint4{}); }),
            "expected zero points as int4 per_channel(axis 0) asymmetric stores them"));
  refuse(errc::shape_mismatch, [&](auto& t) { t.offsets = t.scales; });
  refuse(errc::bad_scale, [](auto& t) { t.scales = Scales<float>{1, std::nanf(""), 1, 1}; });
  refuse(errc::bad_scale, [](auto& t) { t.scales = Scales<float>{1, 0, 1, 1}; });
  CHECK(has(refuse(errc::bad_argument, [](auto& t) { t.scales = Scales<float16>({1, 1, 1, 1}); }),
            "expected scales as int4"));
  refuse(errc::bad_axis, [](auto& t) { t.spec.axis = 2; });
  refuse(errc::unknown_name, [](auto& t) { t.spec.type = "int1"; });
  refuse(errc::bad_argument, [](auto& t) { t.shape = Shape{std::size_t{1} << 40, 1000}; });

  EncodedTensor narrow =
      encode(ConstTensorView(x.data(), {4, 16}), spec("int4", "per_tensor", "symmetric_narrow"));
  narrow.codes.data()[5] = std::byte{0x18};
  CHECK(has(refused(errc::bad_argument, [&] { (void)decode(narrow); }), "[-7, 7]"));
  EncodedTensor offset =
      encode(ConstTensorView(x.data(), {4, 16}), spec("uint4", "per_tensor", "float_offset"));
  offset.offsets = Scales<float>{std::numeric_limits<float>::infinity()};
  CHECK(has(refused(errc::not_finite, [&] { (void)decode(offset); }), "expected finite offsets"));
  std::vector<float> small(63);
  refused(errc::shape_mismatch, [&] { decode(good, small); });
}

TEST_CASE("tensors of any extents are encoded and decoded, or refused", "[encoded_tensor]") {
  const float value = 0.5f;
  for (const char* granularity : {"per_tensor", "per_token", "per_group"}) {
    const QuantSpec s = spec("uint4", granularity, "asymmetric");
    for (int rank = 0; rank <= 2; ++rank)
      test::for_each_shape(rank, [&](const Shape& shape) {
        if (!test::fits_one_element(shape)) return;
        INFO(to_string(shape) << ' ' << granularity);
        test::works_or_refuses([&] {
          EncodedTensor t = encode(ConstTensorView(&value, shape), s);
          CHECK(decode(t).size() == shape.size());
          test::for_each_shape(rank, [&](const Shape& other) {
            t.shape = other;
            if (!(shape == other)) test::works_or_refuses([&] { (void)decode(t); });
          });
        });
      });
  }
}
