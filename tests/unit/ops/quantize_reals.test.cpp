// SPDX-License-Identifier: MIT
// Tensors of float16 and bfloat16, in any layout: what comes of them is what comes of their values
// in float32.
#include <tq/core/codebook.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/random_params.hpp"
#include "support/thread_executor.hpp"

namespace {

const tq::Shape shape{37, 3, 50};

// Where element 0 is in memory that is larger, and the strides.
struct Layout {
  const char* name;
  std::ptrdiff_t first;
  tq::Strides strides;
};
const Layout layouts[] = {
    {"row-major", 0, {150, 50, 1}},
    {"transposed", 0, {1, 37, 111}},
    {"rows apart", 5, {200, 60, 1}},
    {"every other one", 0, {300, 100, 2}},
    {"reversed", 37 * 150 - 1, {-150, -50, -1}},
    {"axes exchanged", 0, {50, 37 * 50, 1}},
    {"one row for all", 7, {0, 50, 1}},
};

template <class Half>
std::vector<Half> numbers() {
  const std::vector<float> x = inputs::normals(12000, 3, 4);
  std::vector<Half> h;
  for (const float v : x) h.emplace_back(v);
  h[40] = Half(std::numeric_limits<float>::quiet_NaN());
  h[999] = Half(std::numeric_limits<float>::infinity());
  h[1234] = Half(-std::numeric_limits<float>::infinity());
  h[77] = Half(-0.0f);
  h[78] = Half(1e-7f);  // a subnormal of float16
  return h;
}

template <class Half>
std::vector<float> widened(const std::vector<Half>& h) {
  std::vector<float> x;
  for (const Half v : h) x.push_back(static_cast<float>(v));
  return x;
}

template <class Half, class Params, class Pack, class N, class E>
std::string differences(const Params& params, const N& n, const E& executor) {
  const std::vector<Half> h = numbers<Half>();
  const std::vector<float> x = widened(h);
  std::string text;
  for (const Layout& l : layouts) {
    const tq::TensorView<const Half> halves(h.data() + l.first, shape, l.strides);
    const tq::ConstTensorView floats(x.data() + l.first, shape, l.strides);
    const auto wanted = tq::quantize<Pack>(floats, params, n),
               got = tq::quantize<Pack>(halves, params, n, executor);
    if (std::memcmp(got.bytes().data(), wanted.bytes().data(), wanted.bytes().size()) != 0)
      text += std::string(l.name) + ": codes\n";
    const std::vector<float> faked = tq::fake_quantize(floats, params, n);
    std::vector<float> single(shape.size());
    std::vector<Half> half(shape.size(), Half(7.0f)), narrowed;
    tq::fake_quantize(halves, params, tq::TensorView<float>(single.data(), shape), n, executor);
    tq::fake_quantize(halves, params, tq::TensorView<Half>(half.data(), shape), n, executor);
    for (const float v : faked) {
      Half out;
      out.code = static_cast<std::uint16_t>(
          Half::format::template encode<tq::Saturate>(v, tq::NearestEven{}, 0));
      narrowed.push_back(out);
    }
    if (std::memcmp(single.data(), faked.data(), faked.size() * sizeof(float)) != 0)
      text += std::string(l.name) + ": float32\n";
    if (std::memcmp(half.data(), narrowed.data(), narrowed.size() * sizeof(Half)) != 0)
      text += std::string(l.name) + ": halves\n";
  }
  return text;
}

template <class Half, class Params, class Pack = tq::LowFirst, class N = tq::numerics::onnx>
void check(typename Params::granularity_type g = {}, const N& n = {}) {
  inputs::Random r(7);
  const Params params = test::random_params<Params>(shape, g, r);
  INFO(Half::name << " " << Params::type::name << " " << Params::granularity_type::name << " "
                  << Pack::name);
  CHECK(differences<Half, Params, Pack>(params, n, tq::serial) == "");
  CHECK(differences<Half, Params, Pack>(params, n, test::Backwards{}) == "");
}

}  // namespace

TEST_CASE("float16 is quantized as its values are", "[quantize_reals]") {
  using namespace tq;
  check<float16, QuantParams<int8, PerTensor, Symmetric>>();
  check<float16, QuantParams<uint8, PerChannel<0>, Asymmetric>>();
  check<float16, QuantParams<uint4, PerGroup<10>, Asymmetric>>();
  check<float16, QuantParams<int4, PerChannel<2>, Symmetric>, HighFirst>();
  check<float16, QuantParams<int8, PerTensor, Symmetric>, LowFirst>(
      {}, Numerics<Stochastic>{Stochastic{5}});
}

TEST_CASE("bfloat16 is quantized as its values are", "[quantize_reals]") {
  using namespace tq;
  check<bfloat16, QuantParams<uint3, PerChannel<1>, Asymmetric>>();
  check<bfloat16, QuantParams<float8_e4m3fn, PerGroup<25>, Symmetric>>();
  check<bfloat16, QuantParams<nf4, PerTensor, Symmetric>>();
  check<bfloat16, QuantParams<float16, PerTensor, Symmetric>>();
}

TEST_CASE("packed groups that do not begin on bytes are those of float32 codes, in any layout",
          "[quantize_reals]") {
  using namespace tq;
  inputs::Random r(9);
  const auto check_groups = [&]<class Params>(std::type_identity<Params>, int size) {
    const typename Params::granularity_type g{size};
    const tq::Shape flat{37, 96};
    const Params params = test::random_params<Params>(flat, g, r);
    const std::vector<float> x = inputs::normals(37 * 96, 3, 4);
    for (const Strides strides :
         {Strides{96, 1}, Strides{96, -1}, Strides{-96, 1}, Strides{1, 37}, Strides{-1, -37}}) {
      const std::ptrdiff_t first =
          (strides[0] < 0 ? -36 * strides[0] : 0) + (strides[1] < 0 ? -95 * strides[1] : 0);
      const ConstTensorView view(x.data() + first, flat, strides);
      std::vector<typename Params::code_type> codes(flat.size());
      quantize(view, params, codes);
      const auto q = quantize(view, params);
      INFO(Params::type::name << " " << size << " " << strides[0] << " " << strides[1]);
      std::vector<std::byte> bytes(q.bytes().size());
      pack<typename Params::type>(std::span<const typename Params::code_type>(codes), bytes);
      CHECK(std::equal(bytes.begin(), bytes.end(), q.bytes().begin(), q.bytes().end()));
    }
  };
  for (const int size : {3, 7, 8, 10, 20, 32}) {
    check_groups(std::type_identity<QuantParams<uint2, PerGroup<dynamic>, Asymmetric>>{}, size);
    check_groups(std::type_identity<QuantParams<int3, PerGroup<dynamic>, Symmetric>>{}, size);
  }
}

TEST_CASE("what does not fit halves is said as for float32", "[quantize_reals]") {
  using namespace tq;
  const std::vector<float16> h = numbers<float16>();
  const TensorView<const float16> x(h.data(), shape);
  using Params = QuantParams<int8, PerTensor, Symmetric>;
  std::vector<std::int8_t> few(9);
  test::raises(errc::shape_mismatch, {"tq::quantize", "an output"},
               [&] { quantize(x, Params(0.5f), few); });
  test::raises(errc::not_finite, {"tq::quantize", "NaN", "1"},
               [&] { (void)quantize(x, Params(0.5f), Numerics<NearestEven, Divide, RaiseNan>{}); });
}
