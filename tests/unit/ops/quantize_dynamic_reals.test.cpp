// SPDX-License-Identifier: MIT
// Parameters and codes of float16, bfloat16 and float64, in any layout: those of the values as
// float32.
#include <tq/core/formats.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/ops/tensor_scale.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/real_tensors.hpp"
#include "support/share.hpp"
#include "support/thread_executor.hpp"

namespace {

using Scalar = tq::backend::native<tq::arch::scalar>;  // quick to compile

using Tokens = tq::QuantParams<tq::int8, tq::PerToken, tq::Asymmetric>;
using Groups = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric, tq::float16>;
using Channels = tq::QuantParams<tq::float8_e4m3fn, tq::PerChannel<-1>, tq::Symmetric>;
using Offsets = tq::QuantParams<tq::uint4, tq::PerToken, tq::FloatOffset, tq::float16>;
using Whole = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;

// Tensors of more than one task as well.
std::vector<real_tensors::Layout> layouts() {
  std::vector<real_tensors::Layout> all = real_tensors::layouts();
  const tq::Shape many{2, 129, 1061};
  all.push_back({"many", many, {129 * 1061, 1061, 1}, 0, 273738});
  all.push_back({"many, transposed", many, {1, 2, 258}, 0, 273738});
  all.push_back({"many, rows apart", many, {129 * 1100, 1100, 1}, 9, 283809});
  return all;
}

// Tame and wild ones. Of long rows the first elements that are widened together have no value.
template <class T>
std::vector<real_tensors::Pair<T>> make_pairs() {
  std::vector<real_tensors::Pair<T>> all;
  for (const real_tensors::Layout& l : layouts())
    for (const bool tame : {true, false}) {
      real_tensors::Pair<T>& p = all.emplace_back(l, l.extent + (tame ? 1 : 0), tame);
      if (l.name != "wide") continue;
      for (std::size_t i = 0; i < p.memory.size(); ++i) {
        p.memory[i] = T(i < 8500 ? std::numeric_limits<float>::quiet_NaN()
                                 : 5 + static_cast<float>(i % 64) / 64);
        p.floats[i] = real_tensors::widened(p.memory[i]);
      }
    }
  return all;
}
template <class T>
const std::vector<real_tensors::Pair<T>>& pairs() {
  static const std::vector<real_tensors::Pair<T>> all = make_pairs<T>();
  return all;
}

// One task, threads, and many tasks from the last to the first.
const test::Awkward executors[] = {{{1}, true}, {{3}, true}, {{3}, false}};

template <class T, class Params, class Pack = tq::LowFirst, class B = Scalar>
void check() {
  std::string failures;
  test::Share share;
  for (const real_tensors::Pair<T>& p : pairs<T>()) {
    if (!share.takes()) continue;
    const auto wanted = tq::quantize_dynamic<Params, Pack>(p.float_view(), tq::on<B>);
    for (const test::Awkward& executor : executors)
      if (tq::quantize_dynamic<Params, Pack>(p.view(), executor, tq::on<B>) != wanted)
        failures += p.layout.name + ", " + std::to_string(executor.concurrency()) + '\n';
  }
  INFO(real_tensors::name_of<T>() << ' ' << Params::type::name << ' '
                                  << Params::granularity_type::name << ' ' << Pack::name);
  CHECK(failures == "");
}

template <class T>
void check_all() {
  check<T, Tokens>();
  check<T, Groups>();
  check<T, tq::mxfp4>();
  check<T, tq::nvfp4>();
  check<T, Channels>();
  check<T, Offsets>();
  check<T, Whole>();
}

}  // namespace

TEST_CASE("float16 has the codes of the moment of its values", "[quantize_dynamic]") {
  check_all<tq::float16>();
}
TEST_CASE("bfloat16 has the codes of the moment of its values", "[quantize_dynamic]") {
  check_all<tq::bfloat16>();
}
TEST_CASE("float64 has the codes of the moment of its values as float32", "[quantize_dynamic]") {
  check_all<double>();
}

TEST_CASE("kernels of this build make codes of the moment of halves and float64",
          "[quantize_dynamic]") {
  using B = tq::default_backend;
  check<tq::float16, Tokens, tq::LowFirst, B>();
  check<tq::float16, Offsets, tq::HighFirst, B>();
  check<tq::bfloat16, Groups, tq::LowFirst, B>();
  check<tq::bfloat16, Whole, tq::LowFirst, B>();
  check<double, tq::nvfp4, tq::LowFirst, B>();
}

namespace {

// Codes in a view with its axes exchanged and parameters, of any real numbers.
template <class Params, class X>
std::vector<double> into_view(const X& x, bool checked) {
  using Stored = typename tq::Scales<typename Params::scale_type>::stored_type;
  const tq::Shape shape = x.shape();
  const std::size_t n = tq::param_count(typename Params::granularity_type{}, shape);
  std::vector<typename Params::code_type> codes(shape.size());
  std::vector<Stored> scales(n);
  std::vector<std::int32_t> zero_points(Params::has_zero_point ? n : 0);
  const tq::TensorView<typename Params::code_type> out(codes.data(), shape,
                                                       {1, static_cast<std::ptrdiff_t>(shape[0])});
  if constexpr (Params::has_zero_point) {
    if (checked)
      tq::quantize_dynamic<Params>(
          x, tq::detail::dynamic_outputs<Params>(out, std::span(scales), std::span(zero_points)),
          tq::on<Scalar>);
    else
      tq::quantize_dynamic_unchecked<Params, Scalar>(x, {}, out, std::span(scales),
                                                     std::span(zero_points));
  } else {
    const float over_all = tq::tensor_scale<Params>(x, tq::on<Scalar>);
    tq::quantize_dynamic<Params>(
        x, {.codes = out, .scales = std::span(scales), .tensor_scale = over_all}, tq::on<Scalar>);
    zero_points.push_back(std::bit_cast<std::int32_t>(over_all));
  }
  std::vector<double> all(codes.begin(), codes.end());
  all.insert(all.end(), scales.begin(), scales.end());
  all.insert(all.end(), zero_points.begin(), zero_points.end());
  return all;
}

template <class T>
void check_views() {
  INFO(real_tensors::name_of<T>());
  const real_tensors::Layout apart{"rows apart", {70, 300}, {400, 1}, 77, 28100};
  const real_tensors::Pair<T> p(apart, 5);
  const std::vector<double> wanted = into_view<Tokens>(p.float_view(), true);
  CHECK((into_view<Tokens>(p.view(), true) == wanted));
  CHECK((into_view<Tokens>(p.view(), false) == wanted));
  CHECK((into_view<tq::nvfp4>(p.view(), true) == into_view<tq::nvfp4>(p.float_view(), true)));
}

}  // namespace

TEST_CASE("codes of the moment of halves and float64 go into views of the caller's",
          "[quantize_dynamic]") {
  check_views<tq::float16>();
  check_views<tq::bfloat16>();
  check_views<double>();
}

TEST_CASE("what does not fit codes of the moment of halves is said as for float32",
          "[quantize_dynamic]") {
  using namespace tq;
  std::vector<float16> x(64, float16(1.0f));
  x[3] = float16(std::numeric_limits<float>::quiet_NaN());
  std::vector<float> scales(1);
  std::vector<std::int32_t> zero_points(1);
  std::vector<std::byte> few(9);
  test::raises(errc::shape_mismatch, {"tq::quantize_dynamic", "bytes of codes", "64", "9"}, [&] {
    quantize_dynamic<Tokens>(x,
                             {.codes = std::span(few),
                              .scales = std::span(scales),
                              .zero_points = std::span(zero_points)},
                             tq::on<Scalar>);
  });
  test::raises(errc::bad_scale, {"tq::quantize_dynamic"}, [&] {
    std::vector<std::uint8_t> stored(4);
    std::vector<std::byte> bytes(32);
    quantize_dynamic<nvfp4>(
        x, {.codes = std::span(bytes), .scales = std::span(stored), .tensor_scale = -1.0f},
        tq::on<Scalar>);
  });
  test::raises(errc::not_finite, {"tq::quantize_dynamic", "NaN", "1"}, [&] {
    (void)quantize_dynamic<Tokens>(x, Numerics<NearestEven, Divide, RaiseNan>{}, tq::on<Scalar>);
  });
}

namespace {

// Somebody's tensor, which operations read through its conversion.
struct Matrix {
  std::vector<float> values;
  tq::Shape shape;
  operator tq::ConstTensorView() const { return {values.data(), shape}; }
};

}  // namespace

TEST_CASE("operations read what converts to a view, and views made in the call",
          "[quantize_dynamic_reals]") {
  using Params = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  const Matrix m{{1, -2, 3, 40, 5, -60}, {2, 3}};
  const tq::ConstTensorView x = m;
  const auto wanted = tq::quantize_dynamic<Params>(x);
  CHECK(tq::quantize_dynamic<Params>(m) == wanted);
  CHECK(tq::quantize_dynamic<Params>({m.values.data(), {2, 3}}) == wanted);
  const Params& params = wanted.params();
  CHECK(tq::quantize(m, params) == wanted);
  CHECK(tq::quantize({m.values.data(), {2, 3}}, params) == wanted);

  std::vector<std::int8_t> codes(6), expected(6);
  std::vector<float> scales(2);
  tq::quantize(x, params, expected);
  tq::quantize_dynamic<Params>(m, {.codes = codes, .scales = scales});
  CHECK(codes == expected);
  CHECK(scales == std::vector<float>(params.scales().begin(), params.scales().end()));
  tq::quantize_dynamic<Params>(
      {m.values.data() + 3, {1, 3}},
      {.codes = std::span(codes).first(3), .scales = std::span(scales).first(1)});
  CHECK(std::equal(codes.begin(), codes.begin() + 3, expected.begin() + 3));
}
