// SPDX-License-Identifier: MIT
#pragma once
// From names and shapes in a manifest to tq's types.

#include "operators.hpp"

#include <tq/core/element.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/symmetry.hpp>

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
/// What torch quantizes to, and what it also fakes: sub-byte ranges and reduced ones.
using TorchIntegers = TypeList<tq::int8, tq::uint8>;
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

/// Codes as a tensor of their storage type.
template <class Code>
Tensor code_tensor(const std::vector<std::size_t>& shape, const std::vector<Code>& codes) {
  return tq::io::from_values<Code>("codes", shape, codes);
}

}  // namespace conformance
