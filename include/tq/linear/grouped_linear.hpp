// SPDX-License-Identifier: MIT
#pragma once
// GroupedLinear: a linear layer of which only the weights are stored in few bits.

#include <tq/core/detail/emptied.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/options.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/linear/activation.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/float_rows.hpp>
#include <tq/linear/detail/group_kernels.hpp>
#include <tq/linear/detail/grouped_blocks.hpp>
#include <tq/linear/detail/grouped_rows.hpp>
#include <tq/linear/detail/require_weights.hpp>
#include <tq/linear/grouped_weights.hpp>
#include <tq/linear/output/bias.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// Activations are multiplied as the floats that they are.
struct FloatActivations {};
/// Each row of activations becomes int8 first, with one scale.
struct Int8PerRow {};
/// Each group of a row becomes int8 first, with a scale of its own.
struct Int8PerGroup {};

/// How activations are multiplied: as floats, or as int8.
template <class A>
concept ActivationScheme = std::same_as<A, FloatActivations> || std::same_as<A, Int8PerRow> ||
                           std::same_as<A, Int8PerGroup>;

/// y = x * transposed weights + bias, with weights in groups of few bits that are read as they are
/// packed. The order of every sum is fixed, so that results do not depend on the executor, nor on
/// the instruction set:
///
/// With int8 activations the codes are those of `quantize_dynamic`, and the products of codes and
/// (level - zero point) of a group are summed exactly, S. `Int8PerGroup`: in ascending groups
///     v = fma(float(S), scale of the weights * scale of the activations, v),
/// then y = v + bias. `Int8PerRow`: v = fma(float(S), scale of the weights, v), and
/// y = fma(v, scale of the row, bias), or their product where there is no bias. Weights have
/// levels then, and scales of `WeightLevels`: integers, `float4_e2m1fn`, `iq4_nl`, but not `nf4`,
/// whose values are no multiples of one number. Where weights have offsets, the sum of the codes
/// of each group is multiplied in the same way when all groups are done:
///     v = fma(float(sum), offset (* scale of the activations), v).
///
/// With floats each weight is the float that `dequantize` makes of it, and
/// y = (sum of the products of even inputs of groups + sum of those of odd ones) + bias, each sum
/// by fma in ascending inputs. On x86 without FMA products are rounded before they are added.
///
/// A layer that was moved from has no weights, and its `forward` throws `errc::shape_mismatch`.
template <ActivationScheme Activations>
class GroupedLinear {
 public:
  static constexpr bool is_integer = !std::same_as<Activations, FloatActivations>;

  /// Weights of shape [outputs, inputs]; `bias`: none, or one for each output. Throws: as
  /// `GroupedWeights`; `errc::shape_mismatch` for another number of biases; `errc::not_finite` for
  /// one that is not; `errc::unsupported` for biases of int32.
  template <GroupedWeightParams Params, class Pack>
    requires(!is_integer || WeightLevels::of<typename Params::type>().has_levels)
  explicit GroupedLinear(const QuantizedTensor<Params, Pack>& weights, const Bias& bias = {})
      : GroupedLinear(GroupedWeights(weights), bias) {}
  /// Throws: `errc::shape_mismatch` for another number of biases; `errc::not_finite` for one that
  /// is not; `errc::unsupported` for biases of int32, and for weights without levels, with int8
  /// activations.
  explicit GroupedLinear(GroupedWeights weights, const Bias& bias = {})
      : weights_(std::move(weights)) {
    if (is_integer && !weights_.map().has_levels)
      detail::raise_expected(errc::unsupported, "tq::GroupedLinear",
                             {"weights that are multiples of one number, for activations of int8"},
                             {"others: FloatActivations takes them"});
    if (!bias.integers().empty())
      detail::raise_expected(errc::unsupported, "tq::GroupedLinear", {"biases of float32"},
                             {"int32"});
    bias.require_fit("tq::GroupedLinear", weights_.outputs());
    if (bias.empty()) return;
    bias_.assign(weights_.panels() * kernels::group_columns, 0.0f);
    std::ranges::copy(bias.floats(), bias_.begin());
  }

  [[nodiscard]] const GroupedWeights& weights() const noexcept { return weights_; }

  /// `x`: [rows, inputs], of real numbers of any type, which count as float32; `y`: [rows,
  /// outputs]; both of any strides. No inputs give the bias, or zeros. Throws:
  /// `errc::shape_mismatch`, before anything is written.
  template <class Arch = default_arch, Readable X = ConstTensorView,
            detail::OutputOf<float> Y = TensorView<float>, class... O>
  void forward(const X& x, Y&& y, const O&... options) const {
    const auto& executor = detail::executor_of(options...);
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::GroupedLinear::forward: the output is a temporary: give it a name first");
    forward_floats<Arch>(detail::read_floats("tq::GroupedLinear", x, executor).view(),
                         detail::output<float>(std::forward<Y>(y)), executor);
  }

 private:
  template <class Arch, Executor E>
  void forward_floats(const ConstTensorView& x, const TensorView<float>& y,
                      const E& executor) const {
    detail::require_weights("tq::GroupedLinear", has_weights_);
    if (x.shape().rank() != 2 || x.shape()[1] != weights_.inputs())
      detail::raise_expected(errc::shape_mismatch, "tq::GroupedLinear",
                             {"rows of ", weights_.inputs(), " values"},
                             {"shape ", x.shape().extents()});
    detail::require_shape("tq::GroupedLinear", "an output", Shape{x.shape()[0], weights_.outputs()},
                          y.shape());
    static_cast<void>(detail::require_extents("tq::GroupedLinear", y.shape()));
    if constexpr (is_integer) multiply_integers<Arch>(x, y, executor);
    else multiply_floats<Arch>(x, y, executor);
  }

  [[nodiscard]] const float* bias() const noexcept {
    return bias_.empty() ? nullptr : bias_.data();
  }
  [[nodiscard]] std::size_t padded_inputs() const noexcept {
    return weights_.groups() * weights_.padded_group_size();
  }

  template <class Arch, Executor E>
  void multiply_integers(const ConstTensorView& x, const TensorView<float>& y,
                         const E& executor) const {
    const auto multiply = [&](const std::int8_t* codes, const float* scales,
                              const float* row_scales) {
      const detail::LinearTarget to{y};
      detail::for_each_part(
          x.shape()[0],
          detail::grouped_block_rows(padded_inputs(), detail::GroupKernels<Arch>::tile_rows()),
          weights_.panels(),
          [&](std::size_t first, std::size_t rows, std::size_t begin, std::size_t end) {
            detail::Int8Block<Arch>(codes, scales, row_scales, weights_, first, rows)
                .multiply(begin, end, bias(), to);
          },
          executor);
    };
    if (weights_.inputs() == 0) return multiply(nullptr, nullptr, nullptr);
    if constexpr (std::same_as<Activations, Int8PerRow>) {
      const auto codes = DynamicActivation<int8>{}.codes(x, executor);
      multiply(codes.codes.data(), nullptr, codes.scales.data());
    } else {
      using Params = QuantParams<int8, PerGroup<dynamic, 1>, Symmetric>;
      const detail::ActivationCodes<std::int8_t> codes(
          x.shape(), x.shape()[0] * weights_.groups(), 0, [&](auto& out) {
            quantize_dynamic<Params>(x, {.codes = out.view(), .scales = out.scales.span()},
                                     PerGroup<dynamic, 1>(static_cast<int>(weights_.group_size())),
                                     executor);
          });
      multiply(codes.codes.data(), codes.scales.data(), nullptr);
    }
  }

  template <class Arch, Executor E>
  void multiply_floats(const ConstTensorView& x, const TensorView<float>& y,
                       const E& executor) const {
    const detail::LinearTarget to{y};
    if (const std::size_t rows = x.shape()[0]; rows <= detail::GroupedRows<Arch>::most(weights_)) {
      if (rows == 0) return;
      const detail::GroupedRows<Arch> some(x, weights_);
      return detail::for_each_part(
          rows, rows, weights_.panels(),
          [&](std::size_t, std::size_t, std::size_t begin, std::size_t end) {
            some.multiply(begin, end, bias(), to);
          },
          executor);
    }
    detail::for_each_part(
        x.shape()[0], detail::FloatRows::most<Arch>(), weights_.panels(),
        [&](std::size_t first, std::size_t rows, std::size_t begin, std::size_t end) {
          detail::FloatBlock<Arch>(x, weights_, first, rows).multiply(begin, end, bias(), to);
        },
        executor);
  }

  GroupedWeights weights_;
  std::vector<float> bias_;  // of whole panels; none where there is none
  detail::Emptied<bool> has_weights_ = true;
};

}  // namespace tq
