// SPDX-License-Identifier: MIT
#pragma once
// DynamicActivation, StaticActivation: how the floats that enter a layer become codes.

#include <tq/core/detail/small_buffer.hpp>
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

namespace tq {

namespace detail {
// Codes of `view`, row-major, and parameters: one of all, one for each index of the first axis, or
// one for each group of a row.
template <ByteCode Code>
struct ActivationCodes {
  // make(codes) writes all of them.
  template <class Make>
  ActivationCodes(const Shape& of, std::size_t scale_count, std::size_t zero_point_count,
                  const Make& make)
      : shape(of), codes(of.size()), scales(scale_count), zero_points(zero_point_count) {
    make(*this);
  }

  Shape shape;
  SmallBuffer<Code, 1024> codes;
  SmallBuffer<float, 64> scales;
  SmallBuffer<std::int32_t, 16> zero_points;

  [[nodiscard]] TensorView<Code> view() noexcept { return {codes.data(), shape}; }
  [[nodiscard]] TensorView<const Code> view() const noexcept { return {codes.data(), shape}; }
};
}  // namespace detail

/// An object with parameters, and numerics to quantize by, such as `FakeQuantize`; but not if it
/// quantizes a transform of its input.
template <class Q>
concept ActivationSource = requires(const Q& q) {
  typename Q::params_type;
  { q.params() } -> std::convertible_to<const typename Q::params_type&>;
  { q.numerics() } -> NumericsPolicy;
} && !(requires { requires Q::transforms; });

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
    detail::require_possible("tq::DynamicActivation", PerChannel<0>{}, x.shape());
    const std::size_t rows = x.shape()[0];
    return {x.shape(), rows, Params::has_zero_point ? rows : 0,
            [&](detail::ActivationCodes<code_type>& out) {
              quantize_dynamic<Params>(x,
                                       detail::dynamic_outputs<Params>(
                                           out.view(), out.scales.span(), out.zero_points.span()),
                                       numerics_, executor);
            }};
  }

 private:
  [[no_unique_address]] N numerics_{};
};

/// All inputs have the same scale and zero point, known before: from an observer and a calibrator,
/// from `FakeQuantize`, or from a file.
template <ByteParams Params, NumericsPolicy N = numerics_of<Params>>
  requires(Params::is_per_tensor && !Params::has_offset)
class StaticActivation {
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
    static_cast<void>(detail::require_extents("tq::StaticActivation", x.shape()));
    return {x.shape(), 1, 1, [&](detail::ActivationCodes<code_type>& out) {
              *out.scales.data() = scale();
              *out.zero_points.data() = zero_point();
              quantize(x, params_, out.view(), numerics_, executor);
            }};
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
concept Activation =
    ByteCode<typename A::code_type> && requires(const A& a, const ConstTensorView& x) {
      { A::is_static } -> std::convertible_to<bool>;
      { a.codes(x) } -> std::same_as<detail::ActivationCodes<typename A::code_type>>;
    };

}  // namespace tq
