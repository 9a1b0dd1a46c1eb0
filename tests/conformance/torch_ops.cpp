// SPDX-License-Identifier: MIT
// Quantization and fake quantization as in PyTorch.
//
// tq's side is numerics::torch. Where a tolerance says `exact_with`, it names the formula of that
// preset, and the results must be equal: the tolerance is for libraries with another formula.

#include "elements.hpp"

#include <tq/core/make_params.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/train/backward.hpp>
#include <tq/train/learned_affine.hpp>

#include <cstdint>
#include <span>

namespace conformance {

namespace {

// Calls f(std::type_identity<T>, std::type_identity<Symmetry>) for the code range of the case.
template <class List, class F>
void with_code_range(List list, const Case& c, F&& f) {
  const auto qmin = c.attributes.at("quant_min").get<std::int64_t>();
  const auto qmax = c.attributes.at("quant_max").get<std::int64_t>();
  const auto full = [&]<class T>(std::type_identity<T>) {
    return T::qmin == qmin && T::qmax == qmax;
  };
  const auto narrow = [&]<class T>(std::type_identity<T>) {
    return T::qmin < 0 && -T::qmax == qmin && T::qmax == qmax;
  };
  const auto call_full = [&]<class T>(std::type_identity<T> t) {
    f(t, std::type_identity<tq::Asymmetric>{});
  };
  const auto call_narrow = [&]<class T>(std::type_identity<T> t) {
    if constexpr (T::qmin < 0) f(t, std::type_identity<tq::SymmetricNarrow>{});
  };
  if (!with_first(list, full, call_full) && !with_first(list, narrow, call_narrow))
    throw Skip{"codes from " + std::to_string(qmin) + " to " + std::to_string(qmax) +
               " are not built yet"};
}

struct TorchOperands {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
};

TorchOperands per_tensor(const Case& c) {
  return {{static_cast<float>(c.attributes.at("scale").get<double>())},
          {c.attributes.at("zero_point").get<std::int32_t>()}};
}
TorchOperands per_channel(const Case& c) {
  return {c.input("scale").floats(), zero_points_of(c.input("zero_point"))};
}

template <class T, class S, class G>
auto torch_params(const G& granularity, const TorchOperands& operands) {
  using Params = tq::QuantParams<T, G, S>;
  if constexpr (S::has_zero_point) {
    return tq::make_params<Params>(granularity, operands.scales, operands.zero_points);
  } else {
    for (const std::int32_t z : operands.zero_points)
      if (z != 0) throw Skip{"a zero point in a narrow code range is not built yet"};
    return tq::make_params<Params>(granularity, operands.scales);
  }
}

template <class Params>
void check_quantize(const Case& c, const Params& params) {
  using code_type = typename Params::code_type;
  const Tensor expected = c.output("q").load(), dq = c.output("dq").load();
  const std::vector<float> x = c.input("x").floats();
  const tq::Shape shape = shape_of(expected);

  std::vector<code_type> codes(x.size());
  tq::quantize(tq::ConstTensorView(x.data(), shape), params, codes, tq::numerics::torch{});
  const Tensor got = code_tensor(expected.shape, codes);
  require("q", c.tolerance.has("exact_with") ? exact(expected, got)
                                             : within(c.tolerance, expected, got));

  codes = tq::io::values<code_type>(expected);
  std::vector<float> back(codes.size());
  tq::dequantize(codes, params, tq::TensorView<float>(back.data(), shape));
  require("dq", exact(dq, tq::io::from_float32("dq", dq.shape, back)));
}

template <class G>
void run_quantize(const Case& c, const G& granularity, const TorchOperands& operands) {
  with_code_range(TorchIntegers{}, c,
                  [&]<class T, class S>(std::type_identity<T>, std::type_identity<S>) {
                    check_quantize(c, torch_params<T, S>(granularity, operands));
                  });
}

// The scale of every element, by walking the grid of parameters without tq's runs.
template <class Params>
std::vector<float> steps(const Params& params, const tq::Shape& shape) {
  std::vector<float> out(shape.size());
  const tq::Shape block = params.granularity().block(shape);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = params.affine(slot_of(shape, block, i)).scale;
  return out;
}

template <class Params>
void check_fake_quantize(const Case& c, const Params& params) {
  const Tensor y = c.output("y").load(), dx = c.output("dx").load();
  const std::vector<float> x = c.input("x").floats(), dy = c.input("dy").floats();
  const tq::ConstTensorView view(x.data(), shape_of(y));
  const tq::numerics::torch numerics;

  const std::vector<float> forward = tq::fake_quantize(view, params, numerics);
  std::vector<float> backward(x.size());
  (void)tq::fake_quantize_backward(view, params, dy, backward, numerics);
  const Tensor got_y = tq::io::from_float32("y", y.shape, forward);
  const Tensor got_dx = tq::io::from_float32("dx", dx.shape, backward);

  const bool neighbours = c.tolerance.kind() == "exact_or_neighbour";
  if (neighbours && !c.tolerance.has("exact_with")) {
    require("y", exact_or_neighbour(y, got_y, steps(params, view.shape()), dx, got_dx,
                                    c.tolerance.number("max_fraction")));
  } else {
    // PyTorch multiplies dy with the mask, which leaves -0 behind; its notes say "else 0".
    require("y", neighbours ? exact(y, got_y) : within(c.tolerance, y, got_y));
    require("dx", neighbours ? exact(dx, got_dx, "", ZeroSign::ignored)
                             : within(c.tolerance, dx, got_dx, "", ZeroSign::ignored));
  }
}

template <class G>
void run_fake_quantize(const Case& c, const G& granularity, const TorchOperands& operands) {
  with_code_range(TorchFakeIntegers{}, c,
                  [&]<class T, class S>(std::type_identity<T>, std::type_identity<S>) {
                    check_fake_quantize(c, torch_params<T, S>(granularity, operands));
                  });
}

// The zero point may be a real number there: it is rounded and clamped to be used.
template <class G>
void run_learnable(const Case& c, const G& granularity, const std::vector<float>& scales,
                   const std::vector<float>& zero_points) {
  using Gradient = tq::LearnedAffine<>;
  const std::vector<float> x = c.input("x").floats(), dy = c.input("dy").floats();
  const Tensor y = c.output("y").load(), dx = c.output("dx").load();
  const Tensor dscale = c.output("dscale").load(), dzero = c.output("dzero_point").load();
  const auto factor = c.attributes.at("grad_factor").get<double>();
  const tq::ConstTensorView view(x.data(), shape_of(y));
  const tq::numerics::torch numerics;
  with_code_range(
      TorchFakeIntegers{}, c, [&]<class T, class S>(std::type_identity<T>, std::type_identity<S>) {
        constexpr tq::kernels::Bounds bounds = tq::detail::code_bounds<tq::QuantParams<T, G, S>>();
        TorchOperands operands{scales, {}};
        for (std::size_t i = 0; i < scales.size(); ++i)
          operands.zero_points.push_back(
              Gradient::affine({scales[i], zero_points[i]}, bounds).zero_point);
        const auto params = torch_params<T, S>(granularity, operands);
        if constexpr (!S::has_zero_point) {
          throw Skip{"a zero point to be learned in a narrow code range is not built"};
        } else {
          std::vector<float> back(x.size()), by_scale, by_zero;
          const tq::ParameterGradients sums =
              tq::fake_quantize_backward<Gradient>(view, params, dy, back, numerics);
          for (std::size_t i = 0; i < scales.size(); ++i) {
            const tq::Learned g = Gradient::gradient({scales[i], zero_points[i]}, bounds,
                                                     {sums.scale[i], sums.offset[i]}, 1);
            by_scale.push_back(static_cast<float>(factor * static_cast<double>(g.first)));
            by_zero.push_back(static_cast<float>(factor * static_cast<double>(g.second)));
          }
          const auto check = [&](const Tensor& expected, const std::vector<float>& got) {
            require(expected.name.c_str(),
                    within(c.tolerance, expected,
                           tq::io::from_float32(expected.name, expected.shape, got), "",
                           ZeroSign::ignored));
          };
          check(y, tq::fake_quantize(view, params, numerics));
          check(dx, back);
          check(dscale, by_scale);
          check(dzero, by_zero);
        }
      });
}

using TorchFloats = TypeList<tq::float16, tq::bfloat16, tq::float8_e4m3fn, tq::float8_e5m2,
                             tq::float8_e4m3fnuz, tq::float8_e5m2fnuz, tq::float8_e8m0fnu>;

}  // namespace

void torch_to(const Case& c) {
  const TensorFile& y = c.output("y");
  const Tensor expected = y.load();
  with_element(
      TorchFloats{}, c.attributes.at("to").get<std::string>(), [&]<class T>(std::type_identity<T>) {
        const std::vector<float> x = c.input("x").floats();
        require("y", within(c.tolerance, expected,
                            code_tensor_like(expected, tq::cast_to<T>(x, tq::numerics::torch{})),
                            y.dtype));
      });
}

void torch_fake_quantize_learnable_per_tensor(const Case& c) {
  run_learnable(c, tq::PerTensor{}, {static_cast<float>(c.attributes.at("scale").get<double>())},
                {static_cast<float>(c.attributes.at("zero_point").get<double>())});
}

void torch_fake_quantize_learnable_per_channel(const Case& c) {
  run_learnable(c, tq::PerChannel<>(c.attributes.at("axis").get<int>()), c.input("scale").floats(),
                c.input("zero_point").floats());
}

void torch_quantize_per_tensor(const Case& c) { run_quantize(c, tq::PerTensor{}, per_tensor(c)); }

void torch_quantize_per_channel(const Case& c) {
  run_quantize(c, tq::PerChannel<>(c.attributes.at("axis").get<int>()), per_channel(c));
}

void torch_fake_quantize_per_tensor(const Case& c) {
  run_fake_quantize(c, tq::PerTensor{}, per_tensor(c));
}

void torch_fake_quantize_per_channel(const Case& c) {
  run_fake_quantize(c, tq::PerChannel<>(c.attributes.at("axis").get<int>()), per_channel(c));
}

}  // namespace conformance
