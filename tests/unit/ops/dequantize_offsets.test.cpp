// SPDX-License-Identifier: MIT
// Codes with float offsets: every granularity, type of scales, packing and layout against the
// definition in double.
#include <tq/core/fit_params.hpp>
#include <tq/core/params_view.hpp>
#include <tq/ops/dequantize.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
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

template <class Params>
std::vector<typename Params::code_type> random_codes(std::size_t n, inputs::Random& r) {
  std::vector<typename Params::code_type> codes(n);
  for (auto& code : codes)
    code = static_cast<typename Params::code_type>(r.between(Params::codes.min, Params::codes.max));
  return codes;
}

template <class Params>
std::vector<float> values(const std::vector<typename Params::code_type>& codes, const Params& p,
                          const tq::Shape& shape) {
  const tq::Shape block = oracle::block(p.granularity(), shape);
  std::vector<float> out;
  oracle::each_index(shape, [&](const std::vector<std::size_t>& index) {
    const tq::OffsetAffine a = p.affine(oracle::param(index, shape, block));
    out.push_back(oracle::dequantize_offset(codes[out.size()], a.scale, a.offset));
  });
  return out;
}

std::size_t differences(const std::vector<float>& a, const std::vector<float>& b) {
  std::size_t n = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) n += oracle::same(a[i], b[i]) ? 0 : 1;
  return n;
}

template <class Params, class Pack>
void check_packed(const std::vector<typename Params::code_type>& codes, const Params& p,
                  const tq::Shape& shape, const std::vector<float>& wanted) {
  tq::QuantizedTensor<Params, Pack> q(shape, p);
  const std::vector<std::byte> bytes = oracle::bytes<typename Params::type, Pack>(codes);
  REQUIRE(bytes.size() == q.bytes().size());
  std::copy(bytes.begin(), bytes.end(), q.bytes().begin());
  CHECK(differences(tq::dequantize(q), wanted) == 0);
  CHECK(differences(tq::dequantize(q, test::Threads{3}), wanted) == 0);
}

template <class Params>
void check(
    const tq::Shape& shape, inputs::Random& r,
    const typename Params::granularity_type& granularity = typename Params::granularity_type{}) {
  using code_type = typename Params::code_type;
  INFO(Params::type::name << " " << Params::granularity_type::name << ", scales "
                          << tq::scale_type_name<typename Params::scale_type> << ", shape "
                          << tq::to_string(shape));
  const auto p = random_params<Params>(granularity, shape, r);
  const auto codes = random_codes<Params>(shape.size(), r);
  const std::vector<float> wanted = values(codes, p, shape);
  check_packed<Params, tq::LowFirst>(codes, p, shape, wanted);
  if constexpr (Params::type::bits < 8)
    check_packed<Params, tq::HighFirst>(codes, p, shape, wanted);
  // Turned: the last axis of the result is the first in memory.
  std::vector<float> turned(wanted.size()), back;
  tq::Strides strides{};
  std::ptrdiff_t at = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    strides[static_cast<std::size_t>(i)] = at;
    at *= static_cast<std::ptrdiff_t>(shape[i]);
  }
  tq::dequantize(tq::TensorView<const code_type>(codes.data(), shape), p,
                 tq::TensorView<float>(turned.data(), shape, strides));
  oracle::each_index(shape, [&](const std::vector<std::size_t>& index) {
    back.push_back(turned[static_cast<std::size_t>(oracle::offset(index, strides))]);
  });
  CHECK(differences(back, wanted) == 0);
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

TEST_CASE("dequantize is code * scale + offset for every granularity and type of scales",
          "[dequantize]") {
  check_granularities<tq::uint4, tq::float16>(1);
  check_granularities<tq::uint4, float>(2);
  check_granularities<tq::uint4, tq::bfloat16>(3);
  check_granularities<tq::int8, float>(4);
}

TEST_CASE("dequantize is code * scale + offset for every width", "[dequantize]") {
  inputs::Random r(5);
  const auto groups = [&]<class T>(T) {
    check<tq::QuantParams<T, tq::PerGroup<32>, tq::FloatOffset, tq::float16>>({3, 130}, r);
  };
  groups(tq::uint2{});
  groups(tq::int3{});
  groups(tq::uint5{});
  groups(tq::uint8{});
  groups(tq::int16{});
  groups(tq::uint16{});
}

TEST_CASE("ternary codes with offsets, five in a byte", "[dequantize]") {
  using Params = tq::QuantParams<tq::ternary, tq::PerGroup<32>, tq::FloatOffset>;
  inputs::Random r(6);
  const tq::Shape shape{9, 67};
  const auto p = random_params<Params>({}, shape, r);
  const auto codes = random_codes<Params>(shape.size(), r);
  tq::QuantizedTensor<Params, tq::FiveInByte> q(shape, p);
  for (std::size_t i = 0; i < q.bytes().size(); ++i) {  // the sum of (code + 1) * 3^k
    unsigned sum = 0;
    for (std::size_t k = 5; k-- > 0;)
      sum = sum * 3 + (5 * i + k < codes.size() ? static_cast<unsigned>(codes[5 * i + k] + 1) : 0u);
    q.bytes()[i] = static_cast<std::byte>(sum);
  }
  CHECK(differences(tq::dequantize(q), values(codes, p, shape)) == 0);
}

TEST_CASE("sums with offsets are rounded to halves once", "[dequantize]") {
  using Params = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, tq::float16>;
  inputs::Random r(7);
  const tq::Shape shape{11, 64};
  const auto p = random_params<Params>({}, shape, r);
  const auto codes = random_codes<Params>(shape.size(), r);
  const std::vector<float> wanted = values(codes, p, shape);
  std::vector<tq::float16> halves(shape.size());
  std::vector<double> doubles(shape.size());
  const tq::TensorView<const std::uint8_t> view(codes.data(), shape);
  tq::dequantize(view, p, tq::TensorView<tq::float16>(halves.data(), shape));
  tq::dequantize(view, p, tq::TensorView<double>(doubles.data(), shape));
  std::size_t failed = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    failed += halves[i].code == tq::float16(wanted[i]).code ? 0 : 1;
    failed += oracle::same(static_cast<float>(doubles[i]), wanted[i]) ? 0 : 1;
  }
  CHECK(failed == 0);
}

TEST_CASE("a block of Q4_1 of ggml", "[dequantize]") {
  // d = 0.5, m = -1.25; byte j has element j in its low half, element j + 16 in its high half.
  using Params = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, tq::float16>;
  const std::vector<std::uint16_t> d{0x3800}, m{0xbd00};
  const tq::ParamsView<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, tq::float16> view({}, d, m);
  std::vector<std::uint8_t> codes(32);
  for (std::size_t i = 0; i < 32; ++i) codes[i] = static_cast<std::uint8_t>(i * 5 % 16);
  const std::vector<float> out =
      tq::dequantize(tq::TensorView<const std::uint8_t>(codes.data(), {32}), view);
  for (std::size_t i = 0; i < 32; ++i) CHECK(out[i] == static_cast<float>(codes[i]) * 0.5f - 1.25f);
  CHECK(Params({}, tq::Scales<tq::float16>(d), tq::Offsets<tq::float16>(m)).affine(0) ==
        tq::OffsetAffine{0.5f, -1.25f});
}
