// SPDX-License-Identifier: MIT
#pragma once
// to_encoded and to_quantized: between tensors of a static type and encoded ones, without a copy.

#include <tq/core/buffer.hpp>
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
#include <string>
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

/// The tensor with its scheme as a value; a tensor that is moved in is not copied. Of the numerics,
/// which parameters do not record, the spec says the default.
template <AnyParams Params>
[[nodiscard]] EncodedTensor to_encoded(QuantizedTensor<Params, LowFirst> tensor) {
  auto [shape, params, bytes] = std::move(tensor).release();
  EncodedTensor out{spec_of(params), shape, std::move(bytes), {}, {}, {}};
  detail::take_parameters(out, std::move(params));
  return out;
}

/// The tensor of a static type; one that is moved in is not copied.
/// Throws: `errc::bad_argument` when `tensor` has another scheme than `Params`, numerics and
/// calibrator aside; what `QuantParams` and `QuantizedTensor` throw for parts that do not fit.
template <AnyParams Params>
[[nodiscard]] QuantizedTensor<Params, LowFirst> to_quantized(EncodedTensor tensor) {
  using Gran = typename Params::granularity_type;
  const auto refuse = [&](const std::string& expected) {
    raise(errc::bad_argument, "tq::to_quantized: expected a tensor encoded as " + expected +
                                  ", got " + to_string(tensor.spec));
  };
  if (tensor.spec.granularity != Gran::name && !std::same_as<Gran, AnyGranularity>)
    refuse(std::string(Gran::name));
  const Gran granularity = detail::granularity_from<Gran>::make(tensor.spec);
  QuantSpec wanted = spec_of<Params>(granularity);
  wanted.numerics = tensor.spec.numerics;
  wanted.calibrator = tensor.spec.calibrator;
  if (!(wanted == tensor.spec)) refuse(to_string(wanted));
  auto params = detail::given_parameters<Params>(tensor, granularity);
  return {tensor.shape, std::move(params), std::move(tensor.codes)};
}

}  // namespace tq
