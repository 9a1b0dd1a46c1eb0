// SPDX-License-Identifier: MIT
// Executors never change a bit.
#include <tq/core/formats.hpp>
#include <tq/core/make_params.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"
#include "support/thread_executor.hpp"

namespace {

using B = tq::backend::native<tq::arch::scalar>;  // quick to compile; tasks are the same for every
                                                  // backend

template <class Params, class N = tq::Numerics<>>
void check(const tq::Shape& shape, const typename Params::granularity_type& g,
           const tq::Strides& strides, const test::Awkward& executor, const N& n = {}) {
  inputs::Random r(3);
  std::vector<float> memory(shape.size());
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<float>(static_cast<std::int64_t>(r.bits() % 4001) - 2000) * 0.01f;
  const tq::ConstTensorView x(memory.data(), shape, strides);
  std::vector<float> scales(param_count(g, shape));
  for (float& s : scales) s = inputs::ordinary_scale(r);
  std::vector<std::int32_t> zeros(Params::has_zero_point ? scales.size() : 0);
  for (std::int32_t& z : zeros) z = r.between(Params::codes.min, Params::codes.max);
  const Params p = tq::make_params<Params>(g, scales, zeros);
  const auto one = tq::quantize(x, p, n, tq::on<B>);
  const auto many = tq::quantize(x, p, n, executor, tq::on<B>);
  INFO(Params::granularity_type::name << " over " << to_string(shape));
  CHECK(
      std::equal(one.bytes().begin(), one.bytes().end(), many.bytes().begin(), many.bytes().end()));
  const auto high_one = tq::quantize<tq::HighFirst>(x, p, n, tq::on<B>);
  const auto high_many = tq::quantize<tq::HighFirst>(x, p, n, executor, tq::on<B>);
  CHECK(std::equal(high_one.bytes().begin(), high_one.bytes().end(), high_many.bytes().begin(),
                   high_many.bytes().end()));
  CHECK(tq::dequantize(one, tq::on<B>) == tq::dequantize(one, executor, tq::on<B>));
  CHECK(tq::fake_quantize(x, p, n, tq::on<B>) == tq::fake_quantize(x, p, n, executor, tq::on<B>));
  CHECK(tq::fake_quantize(x, p, n, tq::on<B>) == tq::dequantize(one, tq::on<B>));
  const auto dynamic_one = tq::quantize_dynamic<Params>(x, g, n, tq::on<B>);
  const auto dynamic_many = tq::quantize_dynamic<Params>(x, g, n, executor, tq::on<B>);
  CHECK(dynamic_one.params() == dynamic_many.params());
  CHECK(std::equal(dynamic_one.bytes().begin(), dynamic_one.bytes().end(),
                   dynamic_many.bytes().begin(), dynamic_many.bytes().end()));
}

template <class Type, class G, class S>
using P = tq::QuantParams<Type, G, S>;

void check_all(const test::Awkward& executor) {
  const auto rows = [](const tq::Shape& s) { return tq::row_major_strides(s); };
  const tq::Shape odd{3, 131, 1009};  // more than 3 * 131072 elements, runs of odd length
  REQUIRE(odd.size() > 3 * tq::detail::task_size);
  check<P<tq::int4, tq::PerGroup<32>, tq::Symmetric>>(odd, {}, rows(odd), executor);
  check<P<tq::uint2, tq::PerChannel<>, tq::Asymmetric>>(odd, tq::PerChannel<>(1), rows(odd),
                                                        executor);
  check<P<tq::int3, tq::PerTensor, tq::Asymmetric>>({396547}, {}, rows({396547}), executor);
  check<P<tq::int4, tq::PerToken, tq::Asymmetric>>({600, 700}, {}, {1, 600},
                                                   executor);  // transposed
  check<P<tq::int4, tq::PerTensor, tq::Symmetric>, tq::Numerics<tq::Stochastic>>(
      odd, {}, rows(odd), executor, {tq::Stochastic{5}});
}

// Coded elements, whose stochastic roundings draw by the place in the output.
template <class Params, class N>
void check_coded(const tq::Shape& shape, const tq::Strides& strides, const test::Awkward& executor,
                 const N& n) {
  const std::vector<float> memory = inputs::normals(shape.size(), 4, 3);
  const tq::ConstTensorView x(memory.data(), shape, strides);
  const std::size_t count = param_count(typename Params::granularity_type{}, shape);
  inputs::Random r(5);
  std::vector<std::uint8_t> scales(count);
  for (auto& s : scales) s = static_cast<std::uint8_t>(r.between(123, 130));
  const Params p({}, tq::Scales<tq::float8_e8m0fnu>(scales));
  const auto one = tq::quantize(x, p, n, tq::on<B>),
             many = tq::quantize(x, p, n, executor, tq::on<B>);
  INFO(Params::type::name << " over " << to_string(shape));
  CHECK(
      std::equal(one.bytes().begin(), one.bytes().end(), many.bytes().begin(), many.bytes().end()));
  const std::vector<float> back = tq::dequantize(one, tq::on<B>);
  CHECK(back == tq::dequantize(one, executor, tq::on<B>));
  CHECK(back == tq::fake_quantize(x, p, n, tq::on<B>));
  CHECK(back == tq::fake_quantize(x, p, n, executor, tq::on<B>));
  CHECK(back == tq::fake_quantize(x, p, n, executor));  // the kernels of this build
}

void check_all_coded(const test::Awkward& executor) {
  const tq::Shape odd{3, 131, 1009};
  using Draws = tq::Numerics<tq::Stochastic>;
  check_coded<tq::mxfp4>(odd, tq::row_major_strides(odd), executor, Draws{tq::Stochastic{6}});
  check_coded<tq::mxfp8_e5m2>({600, 700}, {1, 600}, executor,
                              Draws{tq::Stochastic{7}});  // transposed
}

}  // namespace

TEST_CASE("threads give the bits of the serial executor to coded elements", "[executor]") {
  check_all_coded({test::Threads{}, true});
}
TEST_CASE("the order of tasks does not matter to coded elements", "[executor]") {
  check_all_coded({{}, false});
}
TEST_CASE("threads give the bits of the serial executor", "[executor]") {
  check_all({test::Threads{}, true});
}
TEST_CASE("the order of tasks does not matter", "[executor]") { check_all({{}, false}); }
