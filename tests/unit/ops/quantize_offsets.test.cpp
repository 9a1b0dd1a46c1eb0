// SPDX-License-Identifier: MIT
// quantize and fake_quantize with float offsets: every granularity, type of scales, packing and
// layout against the definition in double.
#include <tq/core/fit_params.hpp>
#include <tq/core/params_view.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/tensor_oracle.hpp"
#include "support/thread_executor.hpp"

namespace {

template <class Params>
Params random_params(const typename Params::granularity_type& granularity, const tq::Shape& shape,
                     inputs::Random& r) {
  std::vector<tq::Range> ranges(oracle::slots(granularity, shape));
  for (tq::Range& one : ranges) {
    const auto low = static_cast<float>(r.normal() * 5);
    one = {low, low + inputs::ordinary_scale(r) * 10};
  }
  return tq::fit_params<Params>(granularity, ranges);
}

// Values in and around the reach of the codes, NaN and infinities among them.
template <class Params>
std::vector<float> random_values(const tq::Shape& shape, const Params& p, inputs::Random& r) {
  const tq::Shape block = oracle::block(p.granularity(), shape);
  const double codes = static_cast<double>(Params::codes.max) - Params::codes.min;
  std::vector<float> x;
  oracle::each_index(shape, [&](const std::vector<std::size_t>& index) {
    const tq::OffsetAffine a = p.affine(oracle::param(index, shape, block));
    const double code = Params::codes.min + codes * (1.4 * r.unit() - 0.2);
    const auto v =
        static_cast<float>(code * static_cast<double>(a.scale) + static_cast<double>(a.offset));
    x.push_back(r.chance(98) ? v : inputs::value(r, a.scale));
  });
  return x;
}

template <class Params, class N>
std::vector<typename Params::code_type> wanted_codes(const std::vector<float>& x,
                                                     const tq::Shape& shape, const Params& p,
                                                     const N& n) {
  const tq::Shape block = oracle::block(p.granularity(), shape);
  std::vector<typename Params::code_type> out;
  oracle::each_index(shape, [&](const std::vector<std::size_t>& index) {
    const tq::OffsetAffine a = p.affine(oracle::param(index, shape, block));
    out.push_back(static_cast<typename Params::code_type>(oracle::quantize_offset(
        x[out.size()], a.scale, a.offset, Params::codes.min, Params::codes.max, n, out.size())));
  });
  return out;
}

template <class Params, class N = tq::numerics::onnx>
void check(
    const tq::Shape& shape, inputs::Random& r,
    const typename Params::granularity_type& granularity = typename Params::granularity_type{},
    const N& n = {}) {
  using T = typename Params::type;
  using code_type = typename Params::code_type;
  INFO(T::name << " " << Params::granularity_type::name << ", scales "
               << tq::scale_type_name<typename Params::scale_type>);
  const auto p = random_params<Params>(granularity, shape, r);
  const std::vector<float> x = random_values(shape, p, r);
  const tq::ConstTensorView view(x.data(), shape);
  const auto wanted = wanted_codes(x, shape, p, n);
  std::vector<code_type> codes(x.size());
  tq::quantize(view, p, tq::TensorView<code_type>(codes.data(), shape), n);
  CHECK(codes == wanted);
  const auto check_bytes = [&](const auto& bytes, const auto& as) {
    CHECK(std::ranges::equal(bytes, as));
  };
  check_bytes(tq::quantize(view, p, n).bytes(), oracle::bytes<T, tq::LowFirst>(wanted));
  check_bytes(tq::quantize<tq::HighFirst>(view, p, n, test::Threads{3}).bytes(),
              oracle::bytes<T, tq::HighFirst>(wanted));
  std::vector<float> values;
  oracle::each_index(shape, [&](const std::vector<std::size_t>& index) {
    const tq::OffsetAffine a =
        p.affine(oracle::param(index, shape, oracle::block(granularity, shape)));
    values.push_back(oracle::dequantize_offset(wanted[values.size()], a.scale, a.offset));
  });
  const std::vector<float> faked = tq::fake_quantize(view, p, n);
  CHECK(std::ranges::equal(faked, values, [](float a, float b) { return oracle::same(a, b); }));
  // Turned: the last axis is the first in memory, and packed on the way.
  std::vector<float> turned(x.size());
  tq::Strides strides{};
  std::ptrdiff_t at = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    strides[static_cast<std::size_t>(i)] = at;
    at *= static_cast<std::ptrdiff_t>(shape[i]);
  }
  std::size_t k = 0;
  oracle::each_index(shape, [&](const std::vector<std::size_t>& index) {
    turned[static_cast<std::size_t>(oracle::offset(index, strides))] = x[k++];
  });
  check_bytes(tq::quantize(tq::ConstTensorView(turned.data(), shape, strides), p, n).bytes(),
              oracle::bytes<T, tq::LowFirst>(wanted));
}

template <class T, class Scale>
void check_granularities(std::uint64_t seed) {
  using tq::FloatOffset, tq::QuantParams;
  inputs::Random r(seed);
  const tq::Shape shape{5, 7, 96};
  check<QuantParams<T, tq::PerTensor, FloatOffset, Scale>>(shape, r);
  check<QuantParams<T, tq::PerChannel<1>, FloatOffset, Scale>>(shape, r);
  check<QuantParams<T, tq::PerGroup<32>, FloatOffset, Scale>>(shape, r);
  check<QuantParams<T, tq::PerGroup<>, FloatOffset, Scale>>(
      shape, r, tq::PerGroup<>(20));  // the last ones shorter
  check<QuantParams<T, tq::PerGroup<3, 0>, FloatOffset, Scale>>(shape, r);
  check<QuantParams<T, tq::PerToken, FloatOffset, Scale>>(shape, r);
  check<QuantParams<T, tq::PerBlock<2, 16>, FloatOffset, Scale>>(shape, r);
}

}  // namespace

TEST_CASE("quantize is clamp(round((x - offset) / scale)) for every granularity and type of scales",
          "[quantize]") {
  check_granularities<tq::uint4, tq::float16>(1);
  check_granularities<tq::int8, float>(2);
}

TEST_CASE("quantize with offsets for every width, and under other numerics", "[quantize]") {
  inputs::Random r(3);
  const auto groups = [&]<class T, class N>(T, const N& n) {
    check<tq::QuantParams<T, tq::PerGroup<32>, tq::FloatOffset, tq::bfloat16>>({3, 130}, r, {}, n);
  };
  groups(tq::uint2{}, tq::Numerics<>{});
  groups(tq::int3{}, tq::Numerics<tq::HalfAway, tq::Reciprocal>{});
  groups(tq::uint5{}, tq::Numerics<tq::Floor, tq::Divide, tq::NanToMin>{});
  groups(tq::uint16{}, tq::Numerics<>{});
}

TEST_CASE("values go to the code whose value is nearest, and back", "[quantize]") {
  using Params = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, tq::float16>;
  inputs::Random r(4);
  std::vector<float> x(64 * 32);
  std::vector<tq::Range> ranges;
  for (std::size_t g = 0; g < 64; ++g) {
    const double at = 100 * r.normal();
    for (std::size_t i = 0; i < 32; ++i) x[32 * g + i] = static_cast<float>(at + r.normal());
    const auto [low, high] =
        std::minmax_element(x.begin() + static_cast<std::ptrdiff_t>(32 * g),
                            x.begin() + static_cast<std::ptrdiff_t>(32 * g + 32));
    ranges.push_back({*low, *high});
  }
  const auto p = tq::fit_params<Params>({}, ranges);
  const auto y = tq::dequantize(tq::quantize(tq::ConstTensorView(x.data(), {64, 32}), p));
  int failed = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const tq::OffsetAffine a = p.affine(i / 32);
    const auto distance = [&](float v) {
      return std::fabs(static_cast<double>(v) - static_cast<double>(x[i]));
    };
    double least = std::numeric_limits<double>::infinity();
    for (std::int32_t code = 0; code < 16; ++code)
      least = std::min(least, distance(oracle::dequantize_offset(code, a.scale, a.offset)));
    failed += distance(y[i]) > least + 1e-4 * static_cast<double>(a.scale) ? 1 : 0;
  }
  CHECK(failed == 0);
}

TEST_CASE("parameters with offsets in memory of the caller's, halves as input", "[quantize]") {
  using View = tq::ParamsView<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, tq::float16>;
  const std::vector<std::uint16_t> d{0x3800, 0x3400}, m{0xbd00, 0x5640};  // 0.5, 0.25; -1.25, 100
  const View view({}, d, m);
  std::vector<tq::float16> halves(64);
  std::vector<std::uint8_t> wanted(64), got(64);
  for (std::size_t i = 0; i < 64; ++i) {
    const float v =
        i < 32 ? -2 + 0.25f * static_cast<float>(i) : 99 + 0.125f * static_cast<float>(i - 32);
    halves[i] = tq::float16(v);
    const float s = i < 32 ? 0.5f : 0.25f, at = i < 32 ? -1.25f : 100.0f;
    wanted[i] =
        static_cast<std::uint8_t>(oracle::quantize_offset(v, s, at, 0, 15, tq::Numerics<>{}));
  }
  tq::quantize(tq::TensorView<const tq::float16>(halves.data(), {64}), view,
               tq::TensorView<std::uint8_t>(got.data(), {64}));
  CHECK(got == wanted);
}

TEST_CASE("quantize with offsets refuses what does not fit", "[quantize]") {
  using Params = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset>;
  const Params p({}, std::vector<float>{1.0f}, std::vector<float>{0.0f});
  const std::vector<float> x(64);
  test::raises(tq::errc::shape_mismatch, {"tq::quantize", "per_group", "expects 2", "got 1"},
               [&] { (void)tq::quantize(tq::ConstTensorView(x.data(), {64}), p); });
}
