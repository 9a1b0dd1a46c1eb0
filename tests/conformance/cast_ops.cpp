// SPDX-License-Identifier: MIT
// Cast of ONNX.

#include "elements.hpp"

#include <tq/ops/cast.hpp>
#include <tq/ops/pack.hpp>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace conformance {

namespace {

// The element types of casts, beside float32 and float64, which are plain arrays.
using CastFloats = TypeList<tq::float16, tq::bfloat16, tq::float8_e4m3fn, tq::float8_e5m2,
                            tq::float8_e4m3fnuz, tq::float8_e5m2fnuz, tq::float4_e2m1fn>;
using CastIntegers = TypeList<tq::int2, tq::uint2, tq::int4, tq::uint4, tq::int8, tq::uint8>;

template <class F>
void with_cast_element(const std::string& type, F&& f) {
  if (type == "float8_e8m0fnu") f(std::type_identity<tq::float8_e8m0fnu>{});
  else if (type.find("float") != std::string::npos) with_element(CastFloats{}, type, f);
  else with_element(CastIntegers{}, type, f);
}

// The input as float32, which holds all of these types but float64.
std::vector<float> reals_of(const TensorFile& file) {
  if (file.dtype == "float32") return file.floats();
  std::vector<float> out;
  with_cast_element(file.dtype, [&]<class T>(std::type_identity<T>) {
    const auto codes = codes_of<T>(file.load());
    if (!file.packed_file.empty()) {
      std::vector<typename T::code_type> unpacked(codes.size());
      tq::unpack<T>(file.packed_bytes(), unpacked);
      require("input, unpacked",
              exact(code_tensor({codes.size()}, codes), code_tensor({codes.size()}, unpacked)));
    }
    out = tq::cast_from<T>(codes);
  });
  return out;
}

// The rules of float8_e8m0fnu: those of the scales of blocks whose largest value is 1.
template <class E>
std::vector<std::uint8_t> exponents(const std::vector<float>& x, const E& rule) {
  using N = tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleOne, tq::Saturate, E>;
  std::vector<std::uint8_t> codes(x.size());
  tq::cast_to<tq::float8_e8m0fnu>(x, std::span(codes), rule);
  std::vector<tq::Range> ranges;
  for (const float v : x) ranges.push_back({v, v});
  const auto scales = tq::Scales<tq::float8_e8m0fnu>::fit<tq::fixed8, tq::Symmetric, N>(ranges);
  require("output, as scales", exact(code_tensor({x.size()}, codes),
                                     tq::io::from_values("scales", {x.size()}, scales.stored())));
  return codes;
}

std::vector<std::uint8_t> exponents(const Case& c, const std::vector<float>& x) {
  const std::string mode = c.attribute<std::string>("round_mode", "up");
  const auto by = [&]<class E>(const E& rule) {
    return c.attribute("saturate", 1) == 0 ? exponents(x, tq::ExponentUnsaturated<E>{})
                                           : exponents(x, rule);
  };
  if (mode == "up") return by(tq::ExponentCeil{});
  if (mode == "down") return by(tq::ExponentFloor{});
  if (mode == "nearest") return by(tq::ExponentNearest{});
  throw std::runtime_error("expected round_mode up, down or nearest, got " + mode);
}

// The codes of x in T. Types of 16 bits have infinities, and no attribute to avoid them.
template <class T, class X>
std::vector<typename T::code_type> codes_for(const Case& c, const std::vector<X>& x) {
  std::vector<typename T::code_type> codes(x.size());
  if constexpr (T::kind == tq::ElementKind::integer) {
    tq::cast_to<T>(x, std::span(codes));
  } else if constexpr (T::bits == 16) {
    tq::cast_to<T>(std::span(x), std::span(codes), WithOverflow<tq::NonSaturate>{});
  } else {
    with_saturate(
        c, [&](const auto& numerics) { tq::cast_to<T>(std::span(x), std::span(codes), numerics); });
  }
  return codes;
}

}  // namespace

void cast(const Case& c) {
  const TensorFile &input = c.input(0), &output = c.output("output");
  const auto to = c.attributes.at("to").get<std::string>();
  if (to != output.dtype)
    throw std::runtime_error("expected an output of type " + to + ", got " + output.dtype);
  const Tensor expected = output.load();

  if (input.dtype == "float64") {
    if (to != "float16") throw Skip{"a cast from float64 to " + to + " is not built yet"};
    const auto codes = codes_for<tq::float16>(c, tq::io::values<double>(input.load()));
    require("output", within(c.tolerance, expected, code_tensor_like(expected, codes), to));
    return;
  }
  const std::vector<float> x = reals_of(input);
  if (to == "float32" || to == "float64") {
    const DType type = to == "float32" ? DType::f32 : DType::f64;
    require("output",
            within(c.tolerance, expected, tq::io::from_float32("output", expected.shape, x, type)));
    return;
  }
  with_cast_element(to, [&]<class T>(std::type_identity<T>) {
    std::vector<typename T::code_type> codes;
    if constexpr (std::is_same_v<T, tq::float8_e8m0fnu>) codes = exponents(c, x);
    else codes = codes_for<T>(c, x);
    require("output", within(c.tolerance, expected, code_tensor_like(expected, codes), to));
    if (output.packed_file.empty()) return;
    std::vector<std::byte> packed(tq::LowFirst::bytes_for<T>(codes.size()));
    tq::pack<T>(codes, packed);
    require("output, packed", exact_bytes(output.packed_bytes(), packed));
  });
}

}  // namespace conformance
