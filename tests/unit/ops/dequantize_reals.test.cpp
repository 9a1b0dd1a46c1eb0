// SPDX-License-Identifier: MIT
// Real numbers of 16 and 64 bits, in any layout: those of float32, rounded once.
#include <tq/core/codebook.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/random_params.hpp"
#include "support/thread_executor.hpp"

namespace {

template <class Out>
Out narrowed(float v) {
  if constexpr (requires { typename Out::format; }) {
    Out out;
    out.code = static_cast<std::uint16_t>(
        Out::format::template encode<tq::Saturate>(v, tq::NearestEven{}, 0));
    return out;
  } else {
    return static_cast<Out>(v);
  }
}

// Layouts of a tensor of 37 x 3 x 50 in memory that is larger: where element 0 is, and the strides.
struct Layout {
  const char* name;
  std::ptrdiff_t first;
  tq::Strides strides;
};
const tq::Shape shape{37, 3, 50};
const Layout layouts[] = {
    {"row-major", 0, {150, 50, 1}},
    {"transposed", 0, {1, 37, 111}},
    {"rows apart", 5, {200, 60, 1}},
    {"every other one", 0, {300, 100, 2}},
    {"reversed", 37 * 150 - 1, {-150, -50, -1}},
    {"rows reversed", 36 * 150, {-150, 50, 1}},
    {"axes exchanged", 0, {50, 37 * 50, 1}},
};

template <class Out, class Params, class Pack, class E = tq::Serial>
std::string differences(const tq::QuantizedTensor<Params, Pack>& q, const E& executor = {}) {
  const std::vector<float> wanted = tq::dequantize(q);
  std::string text;
  for (const Layout& l : layouts) {
    Out guard;
    std::memset(&guard, 0x5a, sizeof guard);
    std::vector<Out> got(12000, guard), expected = got;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto a = static_cast<std::ptrdiff_t>(i / 150),
                 b = static_cast<std::ptrdiff_t>(i / 50 % 3),
                 c = static_cast<std::ptrdiff_t>(i % 50);
      expected[static_cast<std::size_t>(l.first + a * l.strides[0] + b * l.strides[1] +
                                        c * l.strides[2])] = narrowed<Out>(wanted[i]);
    }
    tq::dequantize(q, tq::TensorView<Out>(got.data() + l.first, shape, l.strides), executor);
    if (std::memcmp(got.data(), expected.data(), got.size() * sizeof(Out)) != 0)
      text += std::string(l.name) + "\n";
  }
  return text;
}

template <class Params, class Pack = tq::LowFirst>
void check(typename Params::granularity_type g = {}) {
  inputs::Random r(7);
  const std::vector<float> x = inputs::normals(shape.size(), 3, 4);
  const auto q = tq::quantize<Pack>(tq::ConstTensorView(x.data(), shape),
                                    test::random_params<Params>(shape, g, r));
  INFO(Params::type::name << " " << Params::granularity_type::name << " " << Pack::name);
  CHECK(differences<float>(q) == "");
  CHECK(differences<tq::float16>(q) == "");
  CHECK(differences<tq::bfloat16>(q) == "");
  CHECK(differences<double>(q) == "");
}

}  // namespace

TEST_CASE("codes become numbers of 16, 32 and 64 bits in any layout", "[dequantize]") {
  check<tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>>();
  check<tq::QuantParams<tq::uint8, tq::PerChannel<1>, tq::Asymmetric>>();
  check<tq::QuantParams<tq::int16, tq::PerGroup<16>, tq::Symmetric>>();
  check<tq::QuantParams<tq::float8_e4m3fn, tq::PerChannel<2>, tq::Symmetric>>();
}

TEST_CASE("packed codes become numbers of 16, 32 and 64 bits in any layout", "[dequantize]") {
  check<tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::Asymmetric>>();
  check<tq::QuantParams<tq::int3, tq::PerChannel<0>, tq::Asymmetric>>();
  check<tq::QuantParams<tq::int4, tq::PerGroup<16, 0>, tq::Symmetric>, tq::HighFirst>();
  check<tq::QuantParams<tq::nf4, tq::PerGroup<10>, tq::Symmetric>>();
  check<tq::QuantParams<tq::ternary, tq::PerChannel<0>, tq::Symmetric>, tq::FiveInByte>();
}

TEST_CASE("on threads they are the same", "[dequantize]") {
  const tq::Shape big{700, 1001};
  const std::vector<float> x = inputs::normals(big.size(), 3, 4);
  inputs::Random r(8);
  using Params = tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Asymmetric>;
  const auto q =
      tq::quantize(tq::ConstTensorView(x.data(), big), test::random_params<Params>(big, {}, r));
  for (const tq::Strides& strides : {tq::Strides{1001, 1}, tq::Strides{1, 700}}) {
    std::vector<tq::float16> one(big.size()), many(big.size());
    tq::dequantize(q, tq::TensorView<tq::float16>(one.data(), big, strides));
    tq::dequantize(q, tq::TensorView<tq::float16>(many.data(), big, strides), test::Threads{});
    CHECK(std::memcmp(one.data(), many.data(), one.size() * sizeof(tq::float16)) == 0);
  }
}

TEST_CASE("what float16 does not hold is its largest value, and never infinite", "[dequantize]") {
  const tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric> p(1000.0f);
  const std::vector<std::int8_t> codes{127, -127, 65, -65, 1};
  std::vector<tq::float16> out(5);
  tq::dequantize(codes, p, tq::TensorView<tq::float16>(out.data(), {5}));
  const float top = tq::float16::max_finite;
  const float wanted[] = {top, -top, 64992.0f, -64992.0f, 1000.0f};
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(float(out[i]) == wanted[i]);
}
