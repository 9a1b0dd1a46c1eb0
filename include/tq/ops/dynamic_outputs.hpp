// SPDX-License-Identifier: MIT
#pragma once
// DynamicOutputs: the named outputs of quantize_dynamic.

#include <tq/core/detail/read.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/dynamic_params.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace tq {

namespace detail {

// The destination of codes: a tensor of a code each, or packed bytes.
template <class Code>
class CodesOutput {
 public:
  template <class Out>
    requires(!std::same_as<std::remove_cvref_t<Out>, CodesOutput>)
  CodesOutput(Out&& out)  // NOLINT(google-explicit-constructor)
      : view_(nullptr, Shape{0}) {
    constexpr bool takes_codes = OutputOf<Out, Code>;
    constexpr bool takes_bytes = std::convertible_to<Out, std::span<std::byte>>;
    static_assert(takes_codes || takes_bytes,
                  "tq::quantize_dynamic: .codes is a tensor of the scheme's code_type (int8: "
                  "std::int8_t), or std::byte for packed codes");
    static_assert(!is_temporary_owner<Out>,
                  "tq::quantize_dynamic: .codes is a temporary: give it a name first");
    if constexpr (takes_codes) {
      view_ = output<Code>(std::forward<Out>(out));
    } else if constexpr (takes_bytes) {
      bytes_ = std::span<std::byte>(out);
      is_bytes_ = true;
    }
  }
  [[nodiscard]] bool is_bytes() const noexcept { return is_bytes_; }
  [[nodiscard]] const TensorView<Code>& view() const noexcept { return view_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  TensorView<Code> view_;
  std::span<std::byte> bytes_;
  bool is_bytes_ = false;
};

}  // namespace detail

/// The outputs of `quantize_dynamic`, by name: `{.codes = codes, .scales = scales}`. Each belongs
/// to the caller. A scheme without zero points has no member `zero_points`.
template <AnyParams Params>
struct DynamicOutputs {
  detail::CodesOutput<typename Params::code_type> codes;
  std::span<detail::stored_scale<typename Params::scale_type>> scales;

  [[nodiscard]] detail::ParamsOut<Params> params() const { return {scales, {}}; }
};

/// Outputs of a scheme with zero points.
template <AnyParams Params>
  requires(Params::has_zero_point && !detail::is_two_level<typename Params::scale_type>)
struct DynamicOutputs<Params> {
  detail::CodesOutput<typename Params::code_type> codes;
  std::span<detail::stored_scale<typename Params::scale_type>> scales;
  std::span<std::int32_t> zero_points = {};

  [[nodiscard]] detail::ParamsOut<Params> params() const { return {scales, zero_points}; }
};

/// Outputs of a scheme whose scales have a scale themselves.
template <AnyParams Params>
  requires(detail::is_two_level<typename Params::scale_type>)
struct DynamicOutputs<Params> {
  detail::CodesOutput<typename Params::code_type> codes;
  std::span<detail::stored_scale<typename Params::scale_type>> scales;
  float tensor_scale = 0;  ///< positive and finite
  std::span<std::int32_t> zero_points = {};

  [[nodiscard]] detail::ParamsOut<Params> params() const { return {scales, zero_points}; }
};

namespace detail {
// The outputs by name, for callers that do not know whether the scheme has zero points. Throws:
// `errc::shape_mismatch` when a scheme without zero points has places for them.
template <AnyParams Params, class Out>
[[nodiscard]] DynamicOutputs<Params> dynamic_outputs(
    Out&& codes, std::span<stored_scale<typename Params::scale_type>> scales,
    std::span<std::int32_t> zero_points) {
  DynamicOutputs<Params> out{std::forward<Out>(codes), scales};
  if constexpr (requires { out.zero_points; }) out.zero_points = zero_points;
  else require_size("tq::quantize_dynamic", "zero points", 0, zero_points.size());
  return out;
}

// Scales that were given: unlike a span, they have no default.
template <class Scale>
struct GivenScales {
  template <class Out>
  // NOLINTNEXTLINE(google-explicit-constructor)
    requires std::constructible_from<std::span<Scale>, Out&>
  GivenScales(Out&&) {}
};
// The outputs of a call that names no codes, which does not compile.
template <AnyParams Params>
struct OutputsWithoutCodes {
  GivenScales<stored_scale<typename Params::scale_type>> scales;
  float tensor_scale = 0;
  std::span<std::int32_t> zero_points = {};
};
}  // namespace detail

}  // namespace tq
