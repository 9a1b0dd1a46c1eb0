// SPDX-License-Identifier: MIT
// decode and encode: the small floats, code by code.

#include "elements.hpp"

#include <tq/ops/cast.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace conformance {

namespace {

using Scalar = tq::backend::native<tq::arch::scalar>;

// Codes under the scale 1, which is a power of two: quantizing casts then.
template <class T>
using Unscaled = tq::QuantParams<T, tq::PerTensor, tq::Symmetric, tq::float8_e8m0fnu>;
template <class T>
Unscaled<T> unscaled() {
  return Unscaled<T>(tq::PerTensor{}, tq::Scales<tq::float8_e8m0fnu>({127}));
}

template <class T>
void check_decode(const Case& c) {
  using Code = typename T::code_type;
  const Tensor expected = c.output("values").load();
  std::vector<Code> codes(expected.shape.at(0));
  if (!c.input("codes").file.empty()) codes = codes_of<T>(c.input("codes").load());
  else std::iota(codes.begin(), codes.end(), Code{0});  // the place is the code
  const auto same = [&](const char* how, const std::vector<float>& got) {
    require(how, within(c.tolerance, expected, tq::io::from_float32(how, expected.shape, got)));
  };
  std::vector<float> values;
  for (const Code code : codes) values.push_back(T::format::decode(code));
  same("values, one by one", values);
  same("values", tq::cast_from<T>(codes));
  same("values, without SIMD", tq::cast_from<T>(codes, tq::on<Scalar>));

  tq::QuantizedTensor<Unscaled<T>> q({codes.size()}, unscaled<T>());
  tq::pack<T>(codes, q.bytes());
  same("values, from packed codes", tq::dequantize(q));
}

// Compares codes with an output of the case.
template <class Code>
void require_codes(const Case& c, const char* output, const char* how,
                   const std::vector<Code>& got) {
  const TensorFile& file = c.output(output);
  const Tensor expected = file.load();
  require(std::string(output) + how,
          within(c.tolerance, expected, code_tensor_like(expected, got), file.dtype));
}

template <class T, class O, class X>
std::vector<typename T::code_type> one_by_one(const std::vector<X>& x) {
  std::vector<typename T::code_type> codes;
  for (const X v : x)
    codes.push_back(static_cast<typename T::code_type>(T::format::template encode<O>(v)));
  return codes;
}

template <class T, class O>
void check_encode(const Case& c, const char* output) {
  const WithOverflow<O> numerics;
  const std::vector<float> x = c.input("x").floats();
  auto codes = one_by_one<T, O>(x);
  require_codes(c, output, ", one by one", codes);
  tq::cast_to<T>(std::span(x), std::span(codes), numerics, tq::on<Scalar>);
  require_codes(c, output, ", without SIMD", codes);
  require_codes(c, output, "", tq::cast_to<T>(x, numerics));

  const auto q = tq::quantize(tq::ConstTensorView(x), unscaled<T>(), numerics);
  tq::unpack<T>(q.bytes(), codes);
  require_codes(c, output, ", packed while quantizing", codes);
}

template <class T, class O>
void check_encode_double(const Case& c, const char* output) {
  const auto x = tq::io::values<double>(c.input("x").load());
  auto codes = one_by_one<T, O>(x);
  require_codes(c, output, ", one by one", codes);
  tq::cast_to<T>(std::span(x), std::span(codes), WithOverflow<O>{});
  require_codes(c, output, "", codes);
}

}  // namespace

void decode(const Case& c) {
  with_element(AllFloats{}, c.input("codes").dtype,
               [&]<class T>(std::type_identity<T>) { check_decode<T>(c); });
}

void encode(const Case& c) {
  const auto rounding = c.attributes.at("rounding").get<std::string>();
  if (rounding != "nearest_even") throw Skip{"rounding " + rounding + " is not built yet"};
  const auto format = c.attributes.at("format").get<std::string>();
  const bool saturated = std::any_of(c.outputs.begin(), c.outputs.end(),
                                     [](const TensorFile& t) { return t.name == "sat"; });
  if (c.input("x").dtype == "float64") {
    using List = TypeList<tq::float16, tq::bfloat16, tq::float8_e4m3fn, tq::float8_e5m2>;
    with_element(List{}, format, [&]<class T>(std::type_identity<T>) {
      check_encode_double<T, tq::NonSaturate>(c, "nonsat");
      if (saturated) check_encode_double<T, tq::Saturate>(c, "sat");
    });
    return;
  }
  with_element(AllFloats{}, format, [&]<class T>(std::type_identity<T>) {
    check_encode<T, tq::NonSaturate>(c, "nonsat");
    if (saturated) check_encode<T, tq::Saturate>(c, "sat");
  });
}

}  // namespace conformance
