// SPDX-License-Identifier: MIT
#include <tq/core/formats.hpp>
#include <tq/core/make_params.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using tq::ConstTensorView;
using tq::GroupedLinear;
using tq::Shape;
using tq::TensorView;
using Sizes = std::initializer_list<std::size_t>;

std::vector<float> normal(inputs::Random& r, std::size_t n) {
  std::vector<float> out(n);
  for (float& v : out) v = static_cast<float>(r.normal());
  return out;
}

template <class Type>
using Symmetric32 = tq::QuantParams<Type, tq::PerGroup<32>, tq::Symmetric>;
template <class Type>
using WithZeros = tq::QuantParams<Type, tq::PerGroup<32>, tq::Asymmetric>;
template <class Type>
using WithOffsets = tq::QuantParams<Type, tq::PerGroup<32>, tq::FloatOffset>;

// Parameters with these scales, and with zero points or random offsets.
template <class Params>
Params params_of(inputs::Random& r, const typename Params::granularity_type& granularity,
                 std::vector<float> scales, const std::vector<std::int32_t>& zeros) {
  if constexpr (Params::has_offset) {
    std::vector<float> offsets = normal(r, scales.size());
    return tq::make_params<Params>(granularity, std::move(scales), std::move(offsets));
  } else {
    static_cast<void>(r);
    return tq::make_params<Params>(granularity, std::move(scales), zeros);
  }
}

// Weights of random codes, scales and zero points, a third of those at an end of what they may be.
template <class Params>
auto random_weights(inputs::Random& r, std::size_t outputs, std::size_t inputs,
                    const typename Params::granularity_type& granularity) {
  using Type = typename Params::type;
  const Shape shape{outputs, inputs};
  const std::size_t count = tq::param_count(granularity, shape);
  constexpr tq::CodeRange codes = Params::codes;
  std::vector<float> scales(count);
  std::vector<std::int32_t> zeros(Params::has_zero_point ? count : 0);
  for (float& s : scales) s = static_cast<float>(std::ldexp(1 + r.unit(), r.between(-8, 0)));
  const bool shared = r.chance(25);
  for (auto& z : zeros)
    z = shared         ? codes.max
        : r.chance(33) ? (r.chance(50) ? codes.min : codes.max)
                       : r.between(codes.min, codes.max);
  tq::QuantizedTensor<Params, tq::Unpacked> out(
      shape, params_of<Params>(r, granularity, std::move(scales), zeros));
  const bool worst = r.chance(20);
  for (auto& c : out.codes())
    c = static_cast<typename Type::code_type>(worst ? codes.max : r.between(codes.min, codes.max));
  return out;
}

// The value of a code, in halves.
template <class Params>
std::int64_t halves(const Params& params, typename Params::code_type code, std::size_t param) {
  if constexpr (tq::CodedElement<typename Params::type>) {
    static_cast<void>(params);
    static_cast<void>(param);
    return static_cast<std::int64_t>(
        2 * Params::type::format::decode(static_cast<std::uint32_t>(code)));
  } else if constexpr (Params::has_zero_point) {
    return 2 * (std::int64_t{code} - params.zero_points()[param]);
  } else {
    static_cast<void>(param);
    return 2 * std::int64_t{code};
  }
}

// The result that the description of a layer promises, of sums in 64 bits.
template <class Activations, class Weights>
std::vector<float> integers(const std::vector<float>& x, std::size_t rows, const Weights& w,
                            const std::vector<float>& bias, std::size_t group) {
  const std::size_t outputs = w.shape()[0], inputs = w.shape()[1];
  const std::size_t groups = (inputs + group - 1) / group;
  const Shape block = w.params().granularity().block(w.shape());
  constexpr bool per_row = std::same_as<Activations, tq::Int8PerRow>;
  using Params = tq::QuantParams<tq::int8, tq::PerGroup<tq::dynamic, 1>, tq::Symmetric>;
  const auto q = tq::quantize_dynamic<Params, tq::Unpacked>(
      ConstTensorView(x.data(), Shape{rows, inputs}),
      tq::PerGroup<tq::dynamic, 1>(static_cast<int>(per_row ? inputs : group)));
  std::vector<float> y(rows * outputs);
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < outputs; ++n) {
      float v = 0;
      for (std::size_t g = 0; g < groups; ++g) {
        std::int64_t twice = 0;
        const std::size_t param = n / block[0] * groups + g;
        for (std::size_t k = g * group; k < std::min((g + 1) * group, inputs); ++k)
          twice += q.codes()[m * inputs + k] * halves(w.params(), w.codes()[n * inputs + k], param);
        volatile float scale = w.params().scales()[param];
        const float sum = static_cast<float>(static_cast<double>(twice) / 2);
        if (!per_row) scale = scale * q.params().scales()[m * groups + g];
        v = std::fma(sum, scale, v);
      }
      if constexpr (std::decay_t<decltype(w.params())>::has_offset)
        for (std::size_t g = 0; g < groups; ++g) {
          std::int32_t of_codes = 0;
          for (std::size_t k = g * group; k < std::min((g + 1) * group, inputs); ++k)
            of_codes += q.codes()[m * inputs + k];
          volatile float offset = w.params().offsets()[n / block[0] * groups + g];
          if (!per_row) offset = offset * q.params().scales()[m * groups + g];
          v = std::fma(static_cast<float>(of_codes), offset, v);
        }
      if (per_row)
        v = bias.empty() ? v * q.params().scales()[m]
                         : std::fma(v, q.params().scales()[m], bias[n]);
      else if (!bias.empty()) v += bias[n];
      y[m * outputs + n] = v;
    }
  return y;
}

// The same of floats.
template <class Arch, class Weights>
std::vector<float> floats(const std::vector<float>& x, std::size_t rows, const Weights& w,
                          const std::vector<float>& bias, std::size_t group) {
  const std::size_t outputs = w.shape()[0], inputs = w.shape()[1];
  const std::vector<float> values = tq::dequantize(w);
  std::vector<float> y(rows * outputs);
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < outputs; ++n) {
      float sums[2] = {0, 0};
      for (std::size_t k = 0; k < inputs; ++k) {
        float& sum = sums[k % group % 2];
        if (tq::arch::group_dot<Arch>::fuses) {
          sum = std::fma(x[m * inputs + k], values[n * inputs + k], sum);
        } else {
          volatile float product = x[m * inputs + k] * values[n * inputs + k];
          sum += product;
        }
      }
      const float sum = sums[0] + sums[1];
      y[m * outputs + n] = bias.empty() ? sum : sum + bias[n];
    }
  return y;
}

template <class Activations, class Arch, class Weights>
std::string check(inputs::Random& r, std::size_t rows, const Weights& w, std::size_t group) {
  const std::size_t outputs = w.shape()[0], inputs = w.shape()[1];
  const std::vector<float> x = normal(r, rows * inputs),
                           bias = r.chance(50) ? normal(r, outputs) : std::vector<float>();
  const GroupedLinear<Activations> layer(w, bias);
  std::vector<float> wanted;
  if constexpr (GroupedLinear<Activations>::is_integer)
    wanted = integers<Activations>(x, rows, w, bias, group);
  else wanted = floats<Arch>(x, rows, w, bias, group);
  const std::string what = std::to_string(rows) + " x " + std::to_string(outputs) + " x " +
                           std::to_string(inputs) + " in groups of " + std::to_string(group) + "\n";
  std::string failures;
  const auto run = [&](const auto& executor, const char* name) {
    std::vector<float> y(rows * outputs + 1, 77.0f);
    layer.template forward<Arch>(ConstTensorView(x.data(), Shape{rows, inputs}),
                                 TensorView<float>(y.data(), Shape{rows, outputs}), executor);
    if (y.back() != 77.0f) failures += "wrote past the end: " + what;
    y.pop_back();
    if (y != wanted) failures += std::string(name) + ": " + what;
  };
  run(tq::serial, "serial");
  run(test::Threads{3}, "threads");
  run(test::Backwards{7}, "backwards");
  return failures;
}

// Tails of rows, outputs, inputs and groups.
template <class Activations, class Params, class Arch>
std::string check_shapes(std::uint64_t seed, const typename Params::granularity_type& g = {}) {
  inputs::Random r(seed);
  std::string failures;
  const auto one = [&](std::size_t rows, std::size_t outputs, std::size_t inputs) {
    const auto w = random_weights<Params>(r, outputs, inputs, g);
    const std::size_t group = g.block(Shape{outputs, inputs})[1];
    failures += check<Activations, Arch>(r, rows, w, group);
  };
  for (const std::size_t rows : Sizes{1, 2, 3, 6, 7, 13})
    for (const std::size_t outputs : Sizes{1, 31, 33}) one(rows, outputs, 1 + r.below(100));
  one(5, 32, 64);
  one(1, 70, 129);
  one(0, 5, 40);
  one(3, 0, 40);
  return failures;
}

template <class Params>
std::string check_integers(std::uint64_t seed, const typename Params::granularity_type& g = {}) {
  return check_shapes<tq::Int8PerRow, Params, tq::arch::native>(seed, g) +
         check_shapes<tq::Int8PerGroup, Params, tq::arch::native>(seed + 1, g) +
         check_shapes<tq::Int8PerRow, Params, tq::arch::scalar>(seed + 2, g);
}
template <class Params>
std::string check_floats(std::uint64_t seed, const typename Params::granularity_type& g = {}) {
  return check_shapes<tq::FloatActivations, Params, tq::arch::native>(seed, g) +
         check_shapes<tq::FloatActivations, Params, tq::arch::scalar>(seed + 1, g);
}

}  // namespace

TEST_CASE("int8 activations: integers of every width, with zero points at their limits") {
  CHECK(check_integers<WithZeros<tq::uint2>>(1) == "");
  CHECK(check_integers<WithZeros<tq::int3>>(10) == "");
  CHECK(check_integers<WithZeros<tq::uint4>>(20) == "");
  CHECK(check_integers<Symmetric32<tq::int4>>(30) == "");
  CHECK(check_integers<WithZeros<tq::uint8>>(40) == "");
  CHECK(check_integers<Symmetric32<tq::int8>>(50) == "");
  CHECK(check_integers<Symmetric32<tq::ternary>>(60) == "");
}

TEST_CASE("int8 activations: groups of any size, and floats and code books that are integers") {
  using Sized = tq::QuantParams<tq::uint4, tq::PerGroup<>, tq::Asymmetric>;
  for (const int size : {1, 16, 20, 64, 128})
    CHECK(check_integers<Sized>(70 + static_cast<std::uint64_t>(size), tq::PerGroup<>(size)) == "");
  CHECK(check_integers<tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>>(80) == "");
  CHECK(check_integers<tq::QuantParams<tq::int4, tq::PerBlock<2, 16>, tq::Symmetric>>(90) == "");
  CHECK(check_integers<Symmetric32<tq::float4_e2m1fn>>(100) == "");
  CHECK(check_integers<Symmetric32<tq::iq4_nl>>(110) == "");
}

TEST_CASE("offsets are multiplied by the sums of activations, and added to weights for floats") {
  CHECK(check_integers<WithOffsets<tq::uint4>>(300) == "");
  CHECK(check_integers<WithOffsets<tq::int8>>(310) == "");
  CHECK(check_floats<WithOffsets<tq::uint4>>(320) == "");
  CHECK(check_floats<WithOffsets<tq::uint3>>(330) == "");
}

TEST_CASE("floats: the products of the dequantized weights, in the order that is promised") {
  CHECK(check_floats<WithZeros<tq::uint2>>(200) == "");
  CHECK(check_floats<WithZeros<tq::uint3>>(210) == "");
  CHECK(check_floats<WithZeros<tq::int4>>(220) == "");
  CHECK(check_floats<Symmetric32<tq::int8>>(230) == "");
  CHECK(check_floats<Symmetric32<tq::nf4>>(240) == "");
  CHECK(check_floats<Symmetric32<tq::float4_e2m1fn>>(250) == "");
  CHECK(check_floats<tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>>(260) == "");
}

TEST_CASE(
    "the block formats: scales of powers of two, of FP8 under another, quantized themselves") {
  inputs::Random r(3);
  const std::size_t outputs = 40, inputs = 150;
  const std::vector<float> w = normal(r, outputs * inputs);
  const auto check_format = [&]<class Params, class Activations>() {
    const auto q = tq::quantize_dynamic<Params, tq::Unpacked>(
        ConstTensorView(w.data(), Shape{outputs, inputs}));
    return check<Activations, tq::arch::native>(r, 5, q,
                                                q.params().granularity().block(q.shape())[1]);
  };
  CHECK(check_format.template operator()<tq::mxfp4, tq::Int8PerRow>() == "");
  CHECK(check_format.template operator()<tq::mxfp4, tq::FloatActivations>() == "");
  CHECK(check_format.template operator()<tq::nvfp4, tq::Int8PerGroup>() == "");
  CHECK(check_format.template operator()<tq::nvfp4, tq::FloatActivations>() == "");
  CHECK(check_format.template operator()<tq::nf4_64, tq::FloatActivations>() == "");
  CHECK(check_format.template operator()<tq::nf4_64_double, tq::FloatActivations>() == "");
}

TEST_CASE("a layer of 4 bits is close to the one of floats") {
  inputs::Random r(4);
  const std::size_t rows = 9, outputs = 37, inputs = 256;
  const std::vector<float> x = normal(r, rows * inputs), w = normal(r, outputs * inputs);
  const auto q = tq::quantize_dynamic<Symmetric32<tq::int4>>(
      ConstTensorView(w.data(), Shape{outputs, inputs}));
  const auto noise = [&](const auto& layer) {
    std::vector<float> y(rows * outputs);
    layer.forward(ConstTensorView(x.data(), Shape{rows, inputs}),
                  TensorView<float>(y.data(), Shape{rows, outputs}));
    double error = 0, power = 0;
    for (std::size_t m = 0; m < rows; ++m)
      for (std::size_t n = 0; n < outputs; ++n) {
        double wanted = 0;
        for (std::size_t k = 0; k < inputs; ++k)
          wanted += static_cast<double>(x[m * inputs + k]) * static_cast<double>(w[n * inputs + k]);
        error += std::pow(static_cast<double>(y[m * outputs + n]) - wanted, 2);
        power += wanted * wanted;
      }
    return 10 * std::log10(power / error);
  };
  CHECK(noise(GroupedLinear<tq::FloatActivations>(q)) > 18);
  CHECK(noise(GroupedLinear<tq::Int8PerRow>(q)) > 18);
  CHECK(noise(GroupedLinear<tq::Int8PerGroup>(q)) > 18);
}

TEST_CASE("a layer of groups: turned rows and results are read and written where they are") {
  inputs::Random r(5);
  const std::size_t rows = 8, outputs = 33, inputs = 50;
  const auto w = random_weights<WithZeros<tq::uint4>>(r, outputs, inputs, {});
  const std::vector<float> x = normal(r, rows * inputs);
  std::vector<float> xt(x.size());
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t k = 0; k < inputs; ++k) xt[k * rows + m] = x[m * inputs + k];
  const auto check_turned = [&](const auto& layer) {
    std::vector<float> y(rows * outputs), yt(y.size());
    layer.forward(ConstTensorView(x.data(), Shape{rows, inputs}),
                  TensorView<float>(y.data(), Shape{rows, outputs}));
    const auto step = static_cast<std::ptrdiff_t>(rows);
    layer.forward(ConstTensorView(xt.data(), Shape{rows, inputs}, tq::Strides{1, step}),
                  TensorView<float>(yt.data(), Shape{rows, outputs}, tq::Strides{1, step}));
    bool equal = true;
    for (std::size_t m = 0; m < rows; ++m)
      for (std::size_t n = 0; n < outputs; ++n)
        equal = equal && yt[n * rows + m] == y[m * outputs + n];
    return equal;
  };
  CHECK(check_turned(GroupedLinear<tq::FloatActivations>(w)));
  CHECK(check_turned(GroupedLinear<tq::Int8PerRow>(w)));
  CHECK(check_turned(GroupedLinear<tq::Int8PerGroup>(w)));
}

TEST_CASE("a layer of groups: no inputs give the bias, or zeros; no outputs or rows nothing") {
  inputs::Random r(6);
  const auto w = random_weights<WithZeros<tq::uint4>>(r, 3, 0, {});
  const std::vector<float> bias{1.0f, -2.0f, 3.0f};
  const auto check_empty = [&](const auto& layer, float first, float last) {
    std::vector<float> y(6, 77.0f);
    layer.forward(ConstTensorView(nullptr, Shape{2, 0}), TensorView<float>(y.data(), Shape{2, 3}));
    CHECK(y[0] == first);
    CHECK(y[5] == last);
  };
  check_empty(GroupedLinear<tq::FloatActivations>(w, bias), 1.0f, 3.0f);
  check_empty(GroupedLinear<tq::Int8PerRow>(w, bias), 1.0f, 3.0f);
  check_empty(GroupedLinear<tq::Int8PerGroup>(w), 0.0f, 0.0f);

  // No outputs, and no rows, give nothing.
  const auto no_outputs = random_weights<WithZeros<tq::uint4>>(r, 0, 40, {});
  const auto some = random_weights<WithZeros<tq::uint4>>(r, 3, 40, {});
  const std::vector<float> x(80, 1.0f);
  const auto check_nothing = [&](const auto& layer, std::size_t rows, std::size_t outputs) {
    layer.forward(ConstTensorView(x.data(), Shape{rows, 40}),
                  TensorView<float>(nullptr, Shape{rows, outputs}));
  };
  check_nothing(GroupedLinear<tq::FloatActivations>(no_outputs), 2, 0);
  check_nothing(GroupedLinear<tq::Int8PerRow>(no_outputs), 2, 0);
  check_nothing(GroupedLinear<tq::Int8PerGroup>(no_outputs), 2, 0);
  check_nothing(GroupedLinear<tq::FloatActivations>(some, bias), 0, 3);
  check_nothing(GroupedLinear<tq::Int8PerRow>(some, bias), 0, 3);
  check_nothing(GroupedLinear<tq::Int8PerGroup>(some, bias), 0, 3);
}

TEST_CASE("NaN and infinities stay in their rows and groups, and huge scales do no harm") {
  inputs::Random r(8);
  const std::size_t inputs = 40;
  auto w = random_weights<Symmetric32<tq::int4>>(r, 2, inputs, {});
  std::vector<float> x = normal(r, 2 * inputs), y(4);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  const auto run = [&](const auto& weights) {
    GroupedLinear<tq::FloatActivations>(weights).forward(
        ConstTensorView(x.data(), Shape{2, inputs}), TensorView<float>(y.data(), Shape{2, 2}));
  };
  run(w);
  CHECK(std::isnan(y[0]));
  CHECK(std::isfinite(y[2]));
  // The padding of a group takes no part, whatever its scale is.
  using Params = Symmetric32<tq::int4>;
  tq::QuantizedTensor<Params, tq::Unpacked> huge(
      Shape{2, inputs}, Params(tq::PerGroup<32>(), std::vector<float>(4, 3e38f)));
  std::ranges::fill(huge.codes(), std::int8_t{0});
  std::ranges::fill(x, 1.0f);
  run(huge);
  CHECK(y == std::vector<float>(4, 0.0f));
}

TEST_CASE("a layer of groups refuses what does not fit before anything is written") {
  inputs::Random r(9);
  const auto w = random_weights<Symmetric32<tq::int4>>(r, 2, 3, {});
  const GroupedLinear<tq::Int8PerRow> layer(w);
  const std::vector<float> x(6);
  std::vector<float> y(4, 9.0f);
  test::raises(tq::errc::shape_mismatch, {"rows of 3 values", "[3, 2]"}, [&] {
    layer.forward(ConstTensorView(x.data(), Shape{3, 2}), TensorView<float>(y.data(), Shape{3, 2}));
  });
  test::raises(tq::errc::shape_mismatch, {"[2, 2]", "[2, 1]"}, [&] {
    layer.forward(ConstTensorView(x.data(), Shape{2, 3}), TensorView<float>(y.data(), Shape{2, 1}));
  });
  CHECK(y == std::vector<float>(4, 9.0f));
  test::raises(tq::errc::shape_mismatch, {"0 or 2 biases", "3"},
               [&] { GroupedLinear<tq::Int8PerRow>(w, std::vector<float>(3)); });
  const tq::GroupedWeights nf4(random_weights<Symmetric32<tq::nf4>>(r, 2, 3, {}));
  test::raises(tq::errc::unsupported, {"multiples of one number", "FloatActivations"},
               [&] { GroupedLinear<tq::Int8PerGroup>{nf4}; });
}
