// SPDX-License-Identifier: MIT
#pragma once
// The GPTQ checkpoint layout, both versions: qweight packed along the inputs, qzeros along outputs.

#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/layouts/grouped_weight.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A weight of K inputs and N outputs in groups (`GroupedShape`),
/// real = (code - zero point) * scale:
///
///     qweight int32 [K * bits / 32, N]   code [k, n] is field k of column n
///     qzeros  int32 [G, N * bits / 32]   zero point [g, n] is field n of row g
///     scales  float [G, N]
///     g_idx   int32 [K]                  the group of each input; absent: k / group_size
/// Fields follow one another from the lowest bit on, across words (32 codes of 3 bits in 3 words).
/// `V1` and `V2` say what a field of qzeros means.
/// Source: AutoGPTQ, auto_gptq/nn_modules/qlinear/qlinear_cuda_old.py (QuantLinear.pack).
namespace tq::layouts::gptq {

/// Unsigned codes of 2, 3, 4 or 8 bits, all of them used.
template <class T>
concept Code = IntegerElement<T> && T::qmin == 0 && T::qmax == (1 << T::bits) - 1 &&
               (T::bits == 2 || T::bits == 3 || T::bits == 4 || T::bits == 8);

/// The layout of qweight.
struct Weights : DenseFields<std::int32_t, 0> {};

/// The layout of qzeros where `checkpoint_format` is "gptq": z is stored as z - 1, modulo 2^bits.
///
/// A field of all ones is read as z = 0: zero points are codes, so no writer means 2^bits by it.
/// Readers that add 1 without the modulus do take it for 2^bits, and AutoGPTQ's own packer lets the
/// borrow of 0 - 1 run into the fields above; so 0 is never written in this version.
struct V1 : DenseFields<std::int32_t, 1> {
  static constexpr std::string_view name = "gptq";
  template <IntegerElement>
  static constexpr std::int32_t bias = -1;
  static constexpr std::int32_t lowest_zero_point = 1;  ///< that can be stored
};

/// The layout of qzeros where `checkpoint_format` is "gptq_v2": z is stored as it is.
struct V2 : DenseFields<std::int32_t, 1> {
  static constexpr std::string_view name = "gptq_v2";
  static constexpr std::int32_t lowest_zero_point = 0;
};

/// Models: `V1`, `V2`.
template <class V>
concept Version = FieldLayout<V> && requires {
  { V::name } -> std::convertible_to<std::string_view>;
  { V::lowest_zero_point } -> std::convertible_to<std::int32_t>;
};

/// Words of qweight. Precondition: K * bits is a multiple of 32.
template <Code Type>
[[nodiscard]] constexpr std::size_t qweight_words(const GroupedShape& shape) noexcept {
  return detail::bit_fields<Weights, Type>::words(shape.inputs, shape.outputs);
}

/// Words of qzeros. Preconditions: N * bits is a multiple of 32, the group size is at least 1.
template <Code Type>
[[nodiscard]] constexpr std::size_t qzeros_words(const GroupedShape& shape) noexcept {
  return detail::bit_fields<V2, Type>::words(shape.groups(), shape.outputs);
}

}  // namespace tq::layouts::gptq

namespace tq::detail {
template <layouts::gptq::Code Type>
void require_gptq(const char* function, const GroupedShape& shape, std::size_t qweight,
                  std::size_t qzeros, std::size_t codes, std::size_t zero_points) {
  require_grouped(function, shape);
  constexpr auto multiple = static_cast<std::size_t>(32 / std::gcd(32, Type::bits));
  require_multiple(function, "inputs", multiple, shape.inputs);
  require_multiple(function, "outputs", multiple, shape.outputs);
  require_count(function, "words of qweight", layouts::gptq::qweight_words<Type>(shape), qweight);
  require_count(function, "words of qzeros", layouts::gptq::qzeros_words<Type>(shape), qzeros);
  require_count(function, "codes", shape.inputs * shape.outputs, codes);
  require_count(function, "zero points", shape.groups() * shape.outputs, zero_points);
}
}  // namespace tq::detail

namespace tq::layouts::gptq {

/// Reads `codes` [K, N] and `zero_points` [G, N].
/// Throws: `errc::shape_mismatch` for spans of other sizes; `errc::bad_argument` when K or N do not
/// fill whole words; `errc::bad_group_size`. Nothing is written then.
template <Code Type, Version V>
void load(const GroupedShape& shape, std::span<const std::int32_t> qweight,
          std::span<const std::int32_t> qzeros, std::span<typename Type::code_type> codes,
          std::span<std::int32_t> zero_points) {
  detail::require_gptq<Type>("tq::layouts::gptq::load", shape, qweight.size(), qzeros.size(),
                             codes.size(), zero_points.size());
  detail::bit_fields<Weights, Type>::load(qweight.data(), shape.inputs, shape.outputs,
                                          codes.data());
  detail::bit_fields<V, Type>::load(qzeros.data(), shape.groups(), shape.outputs,
                                    zero_points.data());
}

/// Writes qweight and qzeros from `codes` [K, N] and `zero_points` [G, N].
/// Throws: as `load`; `errc::bad_argument` for codes that are not of the type;
/// `errc::bad_zero_point` for zero points that are not, and for 0 in `V1`. Nothing is written then.
template <Code Type, Version V>
void store(const GroupedShape& shape, std::span<const typename Type::code_type> codes,
           std::span<const std::int32_t> zero_points, std::span<std::int32_t> qweight,
           std::span<std::int32_t> qzeros) {
  constexpr const char* function = "tq::layouts::gptq::store";
  detail::require_gptq<Type>(function, shape, qweight.size(), qzeros.size(), codes.size(),
                             zero_points.size());
  detail::require_codes(errc::bad_argument, function, "codes", codes, Type::qmin, Type::qmax);
  const std::string what = "zero points of checkpoint_format " + std::string(V::name);
  detail::require_codes(errc::bad_zero_point, function, what.c_str(), zero_points,
                        V::lowest_zero_point, Type::qmax);
  detail::bit_fields<Weights, Type>::store(codes.data(), shape.inputs, shape.outputs,
                                           qweight.data());
  detail::bit_fields<V, Type>::store(zero_points.data(), shape.groups(), shape.outputs,
                                     qzeros.data());
}

/// The weight as a tensor [K, N] with its parameters, for `tq::dequantize`. An empty `g_idx` means
/// k / group_size. Scales may be 0 or negative (`GroupedWeight`).
/// Throws: as `load`, as `group_order`; `errc::bad_scale` for scales that are not finite.
template <Code Type, Version V>
[[nodiscard]] GroupedWeight<GroupedParams<Type, 0, Asymmetric>> load_weight(
    const GroupedShape& shape, std::span<const std::int32_t> qweight,
    std::span<const std::int32_t> qzeros, std::span<const float> scales,
    std::span<const std::int32_t> g_idx = {}) {
  constexpr const char* function = "tq::layouts::gptq::load_weight";
  detail::require_grouped(function, shape);
  const std::size_t params = shape.groups() * shape.outputs;
  detail::require_gptq<Type>(function, shape, qweight.size(), qzeros.size(),
                             shape.inputs * shape.outputs, params);
  detail::require_count(function, "scales", params, scales.size());
  std::vector<std::int32_t> zero_points(params);
  detail::bit_fields<V, Type>::load(qzeros.data(), shape.groups(), shape.outputs,
                                    zero_points.data());
  return detail::grouped_weight<GroupedParams<Type, 0, Asymmetric>>(
      function, shape, scales, std::move(zero_points), g_idx,
      [&](std::span<typename Type::code_type> codes) {
        detail::bit_fields<Weights, Type>::load(qweight.data(), shape.inputs, shape.outputs,
                                                codes.data());
      });
}

}  // namespace tq::layouts::gptq
