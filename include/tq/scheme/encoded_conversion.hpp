// SPDX-License-Identifier: MIT
#pragma once
// to_encoded and to_quantized: between tensors of a static type and encoded ones, without a copy.

#include <tq/core/buffer.hpp>
#include <tq/core/make_params.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/zero_points.hpp>
#include <tq/error.hpp>
#include <tq/scheme/detail/stored_numbers.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <concepts>
#include <utility>

namespace tq {

namespace detail {

// Moves the parameters of a static type to where an encoded tensor has them.
template <AnyParams Params>
void take_parameters(EncodedTensor& to, Params params) {
  if constexpr (Params::is_inline) {
    const auto one = [](const auto& values) { return Scales<float>{values[0]}; };
    to.scales = one(params.scales());
    if constexpr (OffsetParams<Params>) to.offsets = one(params.offsets());
    if constexpr (Params::has_zero_point)
      to.zero_points = ZeroPoints<typename Params::type>(params.zero_points());
  } else {
    if constexpr (OffsetParams<Params>) to.offsets = std::move(params).stored_offsets();
    if constexpr (Params::has_zero_point) to.zero_points = std::move(params).stored_zero_points();
    to.scales = std::move(params).stored_scales();
  }
}

// The numbers of an encoded tensor, moved out.
template <class Stored, class Value>
[[nodiscard]] Stored taken(const char* what, StoredNumbers<Value>& numbers,
                           const EncodedTensor& tensor) {
  (void)require_stored<Stored>(what, numbers, tensor);
  return std::move(*numbers.template get_if<Stored>());
}

// And back. Throws: what `QuantParams` throws.
template <AnyParams Params>
[[nodiscard]] Params given_parameters(EncodedTensor& from,
                                      const typename Params::granularity_type& granularity) {
  using Type = typename Params::type;
  using Stored = Scales<typename Params::scale_type>;
  auto scales = taken<Stored>("scales", from.scales, from);
  if constexpr (OffsetParams<Params>) {
    return make_params<Params>(granularity, std::move(scales),
                               taken<Stored>("offsets", from.offsets, from));
  } else if constexpr (Params::has_zero_point) {
    auto zero_points = taken<ZeroPoints<Type>>("zero points", from.zero_points, from);
    if constexpr (Params::is_inline) {
      const auto values = zero_points.values();
      return make_params<Params>(granularity, std::move(scales), {values.begin(), values.end()});
    } else {
      return Params(granularity, std::move(scales), std::move(zero_points));
    }
  } else {
    return make_params<Params>(granularity, std::move(scales));
  }
}

}  // namespace detail

/// The tensor with its scheme as a value; a tensor that is moved in is not copied. The spec names
/// the numerics that the parameters remember, as `spec_of` does.
template <AnyParams Params>
[[nodiscard]] EncodedTensor to_encoded(QuantizedTensor<Params, LowFirst> tensor) {
  auto [shape, params, bytes] = std::move(tensor).release();
  EncodedTensor out{spec_of(params), shape, std::move(bytes), {}, {}, {}};
  detail::take_parameters(out, std::move(params));
  return out;
}

/// The spec of `Params`; sizes and an axis that its granularity leaves to run time are those of
/// `spec` where `spec` has the same granularity. Numerics and calibrator, which do not change what
/// codes mean, are always those of `spec`.
template <AnyParams Params>
[[nodiscard]] QuantSpec spec_like(const QuantSpec& spec) {
  using Gran = typename Params::granularity_type;
  const bool is_open = std::same_as<Gran, AnyGranularity> || spec.granularity == Gran::name;
  QuantSpec out =
      spec_of<Params>(detail::granularity_from<Gran>::make(is_open ? spec : QuantSpec{}));
  out.numerics = spec.numerics;
  out.calibrator = spec.calibrator;
  return out;
}

/// True if tensors of that rank have the same codes and parameters under both specs: those are
/// equal, or write one axis as a number from the first axis on and as a number from the last.
[[nodiscard]] inline bool is_same_layout(QuantSpec a, QuantSpec b, int rank) {
  for (QuantSpec* const spec : {&a, &b})
    if (spec->uses_axis() && spec->axis_or_default() < 0)
      spec->axis = spec->axis_or_default() + rank;
  return a == b;
}

/// The tensor of a static type; one that is moved in is not copied.
/// Throws: `errc::bad_argument` when `tensor` has another scheme than `Params`, numerics and
/// calibrator aside; what `QuantParams` and `QuantizedTensor` throw for parts that do not fit.
template <AnyParams Params>
[[nodiscard]] QuantizedTensor<Params, LowFirst> to_quantized(EncodedTensor tensor) {
  const QuantSpec wanted = spec_like<Params>(tensor.spec);
  if (!is_same_layout(wanted, tensor.spec, tensor.shape.rank()))
    detail::raise_expected(errc::bad_argument, "tq::to_quantized",
                           {"a tensor encoded as ", to_string(wanted)}, {to_string(tensor.spec)});
  using Gran = typename Params::granularity_type;
  auto params =
      detail::given_parameters<Params>(tensor, detail::granularity_from<Gran>::make(tensor.spec));
  return {tensor.shape, std::move(params), std::move(tensor.codes)};
}

}  // namespace tq
