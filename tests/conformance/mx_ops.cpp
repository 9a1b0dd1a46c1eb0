// SPDX-License-Identifier: MIT
// mx_quantize and nvfp4_quantize: blocks of small floats under scales of few bits.

#include "elements.hpp"

#include <tq/calibrate/calibrate.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace conformance {

namespace {

template <class G>
std::vector<tq::Range> block_ranges(const G& granularity, const tq::Shape& shape,
                                    std::span<const float> x) {
  const tq::Shape block = granularity.block(shape);
  std::vector<tq::Range> ranges(tq::param_count(granularity, shape), {INFINITY, -INFINITY});
  for (std::size_t i = 0; i < x.size(); ++i) {
    tq::Range& r = ranges[slot_of(shape, block, i)];
    r.min = std::min(r.min, x[i]);
    r.max = std::max(r.max, x[i]);
  }
  return ranges;
}

// Quantizes in every way there is, requires that all agree, and gives the codes.
template <class Params, class N>
std::vector<std::uint8_t> quantized(tq::ConstTensorView x, const Params& params,
                                    const N& numerics) {
  using T = typename Params::type;
  std::vector<std::uint8_t> codes(x.size());
  tq::quantize(x, params, codes, numerics);
  std::vector<std::byte> packed(tq::LowFirst::bytes_for<T>(x.size()));
  tq::pack<T>(codes, packed);
  const auto q = tq::quantize(x, params, numerics);
  require("codes, packed while quantizing", exact_bytes(packed, q.bytes()));

  std::vector<float> values(x.size());
  tq::dequantize(codes, params, tq::TensorView<float>(values.data(), x.shape()));
  const std::vector<float> unpacked = tq::dequantize(q);
  require("values, from packed codes", exact(tq::io::from_float32("values", {x.size()}, values),
                                             tq::io::from_float32("values", {x.size()}, unpacked)));
  return codes;
}

// Zeros of either sign are equal in values, says the group.
template <class Params>
void require_values(const Case& c, const Params& params, const std::vector<std::uint8_t>& codes) {
  const Tensor expected = c.output("values").load();
  std::vector<float> values(codes.size());
  tq::dequantize(codes, params, tq::TensorView<float>(values.data(), shape_of(expected)));
  require("values", exact(expected, tq::io::from_float32("values", expected.shape, values), "",
                          ZeroSign::ignored));
}

bool has_output(const Case& c, const char* name) {
  return std::any_of(c.outputs.begin(), c.outputs.end(),
                     [&](const TensorFile& t) { return t.name == name; });
}

template <class Params, class E, class R>
void check_mx(const Case& c, const typename Params::granularity_type& blocks) {
  const std::vector<float> x = c.input("x").floats();
  const tq::Shape shape = shape_of(c.input("x").load());
  const tq::ConstTensorView view(x.data(), shape);
  using WithRule =
      tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleOne, tq::Saturate, E>;
  const auto params = tq::calibrate<Params>(view, blocks, WithRule{});
  const std::vector<tq::Range> ranges = block_ranges(params.granularity(), shape, x);
  if (!(params == tq::fit_params<Params, WithRule>(blocks, ranges)))
    throw std::runtime_error("calibrate and fit_params give different scales");

  if (has_output(c, "scale")) {
    const Tensor expected = c.output("scale").load();
    const auto stored = params.stored_scales().stored();
    std::vector<std::uint8_t> scales(stored.begin(), stored.end());
    // The scale of zeros is anyone's choice, and tq's the smallest.
    const auto theirs = tq::io::values<std::uint8_t>(expected);
    for (std::size_t i = 0; i < scales.size(); ++i)
      if (ranges[i].min == 0 && ranges[i].max == 0) {
        if (scales[i] != 0) throw std::runtime_error("expected scale code 0 for a block of zeros");
        scales[i] = theirs.at(i);
      }
    require("scale", within(c.tolerance, expected, code_tensor(expected.shape, scales)));
  }
  const std::vector<std::uint8_t> codes = quantized(view, params, tq::Numerics<R>{});
  using Together = tq::Numerics<R, tq::Divide, tq::NanToZero, tq::ScaleOne, tq::Saturate, E>;
  const auto dynamic = tq::quantize_dynamic<Params>(view, blocks, Together{});
  const auto in_steps = tq::quantize(view, params, tq::Numerics<R>{});
  if (!(dynamic.params() == in_steps.params()) ||
      !std::ranges::equal(dynamic.bytes(), in_steps.bytes()))
    throw std::runtime_error("quantize_dynamic gives other scales or codes");
  if (has_output(c, "codes")) {
    const Tensor expected = c.output("codes").load();
    require("codes", within(c.tolerance, expected, code_tensor_like(expected, codes)));
  }
  if (has_output(c, "values")) require_values(c, params, codes);
}

// `element` "int8" means fixed-point fractions here.
using MxElements = TypeList<tq::float8_e4m3fn, tq::float8_e5m2, tq::float6_e2m3fn,
                            tq::float6_e3m2fn, tq::float4_e2m1fn, tq::fixed8>;

template <class E, class R>
void run_mx(const Case& c) {
  auto element = c.attributes.at("element").get<std::string>();
  if (element == "int8") element = tq::fixed8::name;
  const int axis = c.attribute("axis", -1);
  with_element(MxElements{}, element, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<E, tq::ExponentFloor> && std::is_same_v<R, tq::NearestEven>)
      if (axis == -1) return check_mx<tq::Microscaled<T>, E, R>(c, {});
    using Blocks = tq::PerGroup<tq::dynamic, tq::dynamic>;
    check_mx<tq::QuantParams<T, Blocks, tq::Symmetric, tq::float8_e8m0fnu>, E, R>(c,
                                                                                  Blocks(32, axis));
  });
}

}  // namespace

void mx_quantize(const Case& c) {
  const auto mode = c.attributes.at("mode").get<std::string>();
  const auto round = c.attribute<std::string>("round", "even");
  if (c.attributes.at("block").get<int>() != 32) throw Skip{"blocks of other sizes than 32"};
  if (mode == "floor" && round == "half_away") return run_mx<tq::ExponentFloor, tq::HalfAway>(c);
  if (mode == "floor" && round == "toward_zero")
    return run_mx<tq::ExponentFloor, tq::TowardZero>(c);
  if (round != "even") throw Skip{"rounding " + round + " is not built yet"};
  if (mode == "floor") return run_mx<tq::ExponentFloor, tq::NearestEven>(c);
  if (mode == "ceil") return run_mx<tq::ExponentCeil, tq::NearestEven>(c);
  if (mode == "even") return run_mx<tq::ExponentEven, tq::NearestEven>(c);
  if (mode == "rceil") return run_mx<tq::ExponentRCeil, tq::NearestEven>(c);
  throw Skip{"mode " + mode + " is not built yet"};
}

namespace {

template <class Params>
void check_nvfp4(const Case& c) {
  using Scales = tq::Scales<typename Params::scale_type>;
  const std::vector<float> x = c.input("x").floats();
  const tq::Shape shape = shape_of(c.input("x").load());
  const tq::ConstTensorView view(x.data(), shape);
  const bool two_level = c.attributes.at("two_level").get<bool>();
  const Params params = two_level
                            ? tq::calibrate<Params>(view)
                            : Params({}, Scales::template under<tq::float4_e2m1fn, tq::Symmetric>(
                                             1.0f, block_ranges(tq::PerGroup<16>{}, shape, x)));

  const Tensor tensor_scale = c.output("tensor_scale").load();
  const float got = params.stored_scales().tensor_scale();
  require("tensor_scale", exact(tensor_scale, tq::io::from_float32("tensor_scale", {}, {&got, 1})));
  const Tensor scales = c.output("block_scale").load(), expected = c.output("codes").load();
  const auto stored = params.stored_scales().stored();
  const std::vector<std::uint8_t> codes = quantized(view, params, tq::numerics::ocp{});
  if (c.tolerance.kind() != "nvfp4")
    throw std::runtime_error("expected tolerance nvfp4, got " + c.tolerance.kind());
  require("codes", nvfp4(scales, tq::io::from_values("scales", scales.shape, stored), expected,
                         code_tensor(expected.shape, codes),
                         c.tolerance.number("codes_max_fraction_off_by_one")));
  // The order of operations in which a few codes differ has no part in decoding.
  require_values(c, params, codes_of<tq::float4_e2m1fn>(expected));
}

}  // namespace

void nvfp4_quantize(const Case& c) {
  if (c.attributes.at("block").get<int>() != 16) throw Skip{"blocks of other sizes than 16"};
  const double least = c.attributes.at("block_scale_floor").get<double>();
  if (least == 0) check_nvfp4<tq::nvfp4>(c);
  else if (least == 0x1p-6) check_nvfp4<tq::nvfp4_normal>(c);
  else throw Skip{"block scales of at least " + std::to_string(least) + " are not built yet"};
}

}  // namespace conformance
