// SPDX-License-Identifier: MIT
#pragma once
// DynamicActivation, StaticActivation: how the floats that enter a layer become codes.

#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/linear/packed_weights.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq {

namespace detail {
// Codes of `view`, row-major, and parameters: one of all, or one for each index of the first axis.
template <ByteCode Code>
struct ActivationCodes {
  Buffer<Code> codes;
  Shape shape;
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;

  [[nodiscard]] TensorView<const Code> view() const noexcept { return {codes.data(), shape}; }
};
}  // namespace detail

/// What has parameters, and numerics to quantize by, such as `FakeQuantize`; none that quantizes
/// something else in place of its input.
template <class Q>
concept ActivationSource = requires(const Q& q) {
  typename Q::params_type;
  { q.params() } -> std::convertible_to<const typename Q::params_type&>;
  { q.numerics() } -> NumericsPolicy;
}
&&!(requires { requires Q::transforms; });

/// Every row of a linear layer, and every image of a convolution, has a scale, and a zero point
/// where `Symmetry` has them, of its own: that which its values need when they come.
template <IntegerElement Type = int8, SymmetryFor<Type> Symmetry = tq::Symmetric,
          NumericsPolicy N = numerics::onnx>
requires ByteCode<typename Type::code_type>
class DynamicActivation {
 public:
  using code_type = typename Type::code_type;
  static constexpr bool is_static = false;

  DynamicActivation() = default;
  explicit DynamicActivation(N numerics) : numerics_(std::move(numerics)) {}

  template <Executor E = Serial>
  [[nodiscard]] detail::ActivationCodes<code_type> codes(const ConstTensorView& x,
                                                         const E& executor = serial) const {
    using Params = QuantParams<Type, PerChannel<0>, Symmetry>;
    detail::ActivationCodes<code_type> out{Buffer<code_type>(x.size()), x.shape(), {}, {}};
    out.scales.resize(x.shape()[0]);
    if constexpr (Params::has_zero_point) out.zero_points.resize(x.shape()[0]);
    quantize_dynamic<Params>(x, {}, TensorView<code_type>(out.codes.data(), x.shape()),
                             std::span<float>(out.scales), std::span<std::int32_t>(out.zero_points),
                             numerics_, executor);
    return out;
  }

 private:
  [[no_unique_address]] N numerics_{};
};

/// All inputs have the same scale and zero point, known before: from an observer and a calibrator,
/// from `FakeQuantize`, or from a file.
template <ByteParams Params, NumericsPolicy N = numerics::onnx>
requires(Params::is_per_tensor && !Params::has_offset) class StaticActivation {
 public:
  using params_type = Params;
  using code_type = typename Params::code_type;
  static constexpr bool is_static = true;

  explicit StaticActivation(Params params, N numerics = {})
      : params_(std::move(params)), numerics_(std::move(numerics)) {}
  /// Throws: what `trained.params()` throws: `errc::no_data` before the first batch.
  template <ActivationSource Trained>
  explicit StaticActivation(const Trained& trained)
      : StaticActivation(trained.params(), trained.numerics()) {}

  [[nodiscard]] const Params& params() const noexcept { return params_; }
  [[nodiscard]] float scale() const noexcept { return params_.scales()[0]; }
  [[nodiscard]] std::int32_t zero_point() const noexcept { return params_.affine(0).zero_point; }

  template <Executor E = Serial>
  [[nodiscard]] detail::ActivationCodes<code_type> codes(const ConstTensorView& x,
                                                         const E& executor = serial) const {
    detail::ActivationCodes<code_type> out{
        Buffer<code_type>(x.size()), x.shape(), {scale()}, {zero_point()}};
    quantize(x, params_, TensorView<code_type>(out.codes.data(), x.shape()), numerics_, executor);
    return out;
  }

 private:
  Params params_;
  [[no_unique_address]] N numerics_;
};
template <ActivationSource Trained>
StaticActivation(const Trained&)
    -> StaticActivation<typename Trained::params_type,
                        decltype(std::declval<const Trained&>().numerics())>;

/// `DynamicActivation` or `StaticActivation`.
template <class A>
concept Activation = ByteCode<typename A::code_type> &&
    requires(const A& a, const ConstTensorView& x) {
  { A::is_static } -> std::convertible_to<bool>;
  { a.codes(x) } -> std::same_as<detail::ActivationCodes<typename A::code_type>>;
};

}  // namespace tq
