// SPDX-License-Identifier: MIT
#pragma once
// QuantizedLinear: a linear layer that multiplies integers, and takes and gives floats or codes.

#include <tq/core/detail/emptied.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/options.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/activation.hpp>
#include <tq/linear/byte_weights.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/require_weights.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/matmul_requantized.hpp>
#include <tq/linear/output/bias.hpp>
#include <tq/linear/output/code_output.hpp>
#include <tq/linear/output/detail/layer_stage.hpp>
#include <tq/linear/output/detail/store_row.hpp>
#include <tq/linear/output/float_output.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/linear/packed_weights.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/read_floats.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tq {

/// y = x * transposed weights + bias, summed as integers. `In` says how floats of x become codes: a
/// `DynamicActivation`, for each row by itself, or a `StaticActivation`, whose codes may also be
/// given. `Out` says what becomes of the sums: a `FloatOutput` or a `CodeOutput`. A layer that was
/// moved from has no weights, and its `forward` throws `errc::shape_mismatch`.
template <Activation In = DynamicActivation<>, class Out = FloatOutput>
class QuantizedLinear {
 public:
  using code_type = typename In::code_type;
  using value_type = typename Out::value_type;
  static constexpr bool gives_codes = ByteCode<value_type>;
  static_assert(In::is_static || !gives_codes,
                "tq::QuantizedLinear: a CodeOutput needs a StaticActivation, as the factor of its "
                "codes is made of a scale that is known before");

  /// Weights of shape [outputs, inputs], with parameters per tensor or for each output. Throws: as
  /// `PackedWeights`, `errc::unsupported` for parameters of groups among it; as
  /// `Bias::require_fit`; as `CodeOutput::requantization` and `OutputStage`; `errc::bad_argument`
  /// for sums that might leave 32 bits, for biases of int32 without a `StaticActivation`, which
  /// they have no step without, and for a clamp of nothing; `errc::bad_scale` for scales whose
  /// product is infinite.
  template <ByteParams Params, class Pack>
  explicit QuantizedLinear(const QuantizedTensor<Params, Pack>& weights, const Bias& bias = {},
                           In in = {}, Out out = {})
      : QuantizedLinear(ByteWeights(weights), bias, std::move(in), out) {}
  /// The same of weights whose types were known at run time.
  explicit QuantizedLinear(const ByteWeights& weights, const Bias& bias = {}, In in = {},
                           Out out = {})
      : weights_(weights),
        in_(std::move(in)),
        stage_(detail::layer_stage(name, in_, weights_, weights.scales(), bias, out)) {}

  [[nodiscard]] const PackedWeights& weights() const noexcept { return weights_; }
  [[nodiscard]] const In& activation() const noexcept { return in_; }

  /// `x`: [rows, inputs], of real numbers of any type, which count as float32; `y`: [rows,
  /// outputs]; both of any strides. No inputs give biases. Throws:
  /// `errc::shape_mismatch`; `errc::bad_scale` where the scale of a row times one of the weights is
  /// infinite; as the numerics of `In` say. Nothing is written then.
  template <class Arch = default_arch, Readable X = ConstTensorView,
            detail::OutputOf<value_type> Y = TensorView<value_type>, class... O>
  void forward(const X& x, Y&& y, const O&... options) const {
    const auto& executor = detail::executor_of(options...);
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::QuantizedLinear::forward: the output is a temporary: give it a name first");
    forward_floats<Arch>(detail::read_floats(name, x, executor).view(),
                         detail::output<value_type>(std::forward<Y>(y)), executor);
  }

  /// The same of codes, which have the parameters of the `StaticActivation`.
  template <class Arch = default_arch, detail::InputOf<code_type> X = TensorView<const code_type>,
            detail::OutputOf<value_type> Y = TensorView<value_type>, class... O>
    requires In::is_static
  void forward(const X& x, Y&& y, const O&... options) const {
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::QuantizedLinear::forward: the output is a temporary: give it a name first");
    forward_codes<Arch>(detail::read_as<code_type>(x).view(),
                        detail::output<value_type>(std::forward<Y>(y)),
                        detail::executor_of(options...));
  }

 private:
  static constexpr const char* name = "tq::QuantizedLinear";

  void require_shapes(const Shape& x, const Shape& y) const {
    detail::require_weights(name, has_weights_);
    if (x.rank() != 2 || x[1] != weights_.inputs())
      detail::raise_expected(errc::shape_mismatch, name, {"rows of ", weights_.inputs(), " values"},
                             {"shape ", x.extents()});
    detail::require_shape(name, "an output", Shape{x[0], weights_.outputs()}, y);
    static_cast<void>(detail::require_extents(name, y));
  }

  template <class Arch, Executor E>
  void forward_floats(const ConstTensorView& x, const TensorView<value_type>& y,
                      const E& executor) const {
    require_shapes(x.shape(), y.shape());
    const auto codes = in_.codes(x, executor);
    multiply<Arch>(codes.view(), codes.scales.span(), codes.zero_points.span(), y, executor);
  }
  template <class Arch, Executor E>
  void forward_codes(const TensorView<const code_type>& x, const TensorView<value_type>& y,
                     const E& executor) const {
    require_shapes(x.shape(), y.shape());
    const float scale = in_.scale();
    const std::int32_t zero_point = in_.zero_point();
    multiply<Arch>(x, {&scale, 1}, {&zero_point, 1}, y, executor);
  }

  template <class Arch, Executor E>
  void multiply(const TensorView<const code_type>& x, std::span<const float> scales,
                std::span<const std::int32_t> zero_points, const TensorView<value_type>& y,
                const E& executor) const {
    if constexpr (gives_codes) {
      matmul_requantized<Arch>(x, zero_points, weights_, stage_, y, executor);
    } else {
      stage_.require_finite(name, scales);
      const auto store = [&](std::size_t row, std::size_t column, std::size_t count,
                             const std::int32_t* sums) {
        const float scale = scales[scales.size() == 1 ? 0 : row];
        detail::store_row(
            y, row, column, count, [&](std::size_t first, std::size_t n, float* values) {
              stage_.template row<Arch>(sums + first, column + first, n, scale, values);
            });
      };
      const detail::GemmRows<code_type> rows{x, zero_points};
      detail::multiply<Arch, std::int32_t>(rows, weights_, store, executor);
    }
  }

  PackedWeights weights_;
  In in_;
  typename Out::stage_type stage_;
  detail::Emptied<bool> has_weights_ = true;
};

}  // namespace tq
