// SPDX-License-Identifier: MIT
#pragma once
// From names and shapes in a manifest to tq's types.

#include "operators.hpp"

#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/numerics.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace conformance {

template <class... T>
struct TypeList {};

using OnnxIntegers =
    TypeList<tq::int2, tq::uint2, tq::int4, tq::uint4, tq::int8, tq::uint8, tq::int16, tq::uint16>;
/// Types of the ONNX quantization operators beside integers.
using OnnxFloats = TypeList<tq::float8_e4m3fn, tq::float8_e5m2, tq::float8_e4m3fnuz,
                            tq::float8_e5m2fnuz, tq::float4_e2m1fn>;
using AllFloats = TypeList<tq::float16, tq::bfloat16, tq::float8_e4m3fn, tq::float8_e5m2,
                           tq::float8_e4m3fnuz, tq::float8_e5m2fnuz, tq::float8_e8m0fnu,
                           tq::float6_e2m3fn, tq::float6_e3m2fn, tq::float4_e2m1fn>;
/// Types that torch quantizes to, and those it fakes: also sub-byte and reduced ranges.
using TorchIntegers = TypeList<tq::int8, tq::uint8, tq::int32>;
using TorchFakeIntegers =
    TypeList<tq::int2, tq::int4, tq::int7, tq::int8, tq::uint2, tq::uint4, tq::uint7, tq::uint8>;

/// Calls f(std::type_identity<T>) for the first type of the list that `matches`, else returns
/// false.
template <class... T, class Matches, class F>
bool with_first(TypeList<T...>, Matches&& matches, F&& f) {
  return ((matches(std::type_identity<T>{}) && (f(std::type_identity<T>{}), true)) || ...);
}

/// Calls f(std::type_identity<T>) for the element of that name. Throws: Skip.
template <class... T, class F>
void with_element(TypeList<T...> list, std::string_view name, F&& f) {
  const auto named = [&]<class U>(std::type_identity<U>) { return U::name == name; };
  if (!with_first(list, named, std::forward<F>(f)))
    throw Skip{"element type " + std::string(name) + " is not built yet"};
}

/// A shape of any rank as tq's. Throws: tq::error.
inline tq::Shape shape_of(const Tensor& t) { return tq::io::tensor_shape(t); }

inline std::vector<std::int32_t> zero_points_of(const TensorFile& file) {
  std::vector<std::int32_t> out;
  for (const std::int64_t z : integers(file.load())) {
    if (z != static_cast<std::int32_t>(z))
      throw std::runtime_error("expected zero points of 32 bits, got " + std::to_string(z));
    out.push_back(static_cast<std::int32_t>(z));
  }
  return out;
}

/// The parameter of row-major element `i` of a tensor that is cut into blocks, without tq's runs.
inline std::size_t slot_of(const tq::Shape& shape, const tq::Shape& block, std::size_t i) {
  std::size_t slot = 0, stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    slot += i % shape[axis] / block[axis] * stride;
    stride *= (shape[axis] + block[axis] - 1) / block[axis];
    i /= shape[axis];
  }
  return slot;
}

/// Codes as a tensor of their storage type.
template <class Code>
Tensor code_tensor(const std::vector<std::size_t>& shape, const std::vector<Code>& codes) {
  return tq::io::from_values<Code>("codes", shape, codes);
}

/// Codes as a tensor of the type that `like` has, one of as many bits: float16 for 16 of them, say.
template <class Code>
Tensor code_tensor_like(const Tensor& like, const std::vector<Code>& codes) {
  Tensor out = code_tensor(like.shape, codes);
  if (tq::io::bits(like.dtype) == tq::io::bits(out.dtype)) out.dtype = like.dtype;
  return out;
}

/// The stored codes of element T, also where the file says float16 or int8 of them.
template <tq::Element T>
std::vector<typename T::code_type> codes_of(Tensor t) {
  constexpr DType stored = tq::io::dtype_of<typename T::code_type>::value;
  if (tq::io::bits(t.dtype) == tq::io::bits(stored)) t.dtype = stored;
  return tq::io::values<typename T::code_type>(t);
}

/// The default numerics with overflow rule O.
template <tq::OverflowPolicy O>
using WithOverflow = tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleOne, O>;

/// Calls f(numerics) with the overflow rule of the case's attribute `saturate`, 1 by default.
template <class F>
void with_saturate(const Case& c, F&& f) {
  if (c.attribute("saturate", 1) != 0) f(WithOverflow<tq::Saturate>{});
  else f(WithOverflow<tq::NonSaturate>{});
}

}  // namespace conformance
