// SPDX-License-Identifier: MIT
#pragma once
// HessianStack: the mean products of the inputs of a grouped layer, a Hessian for each group.

#include <tq/arch/isa.hpp>
#include <tq/core/detail/expectations.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/readable.hpp>
#include <tq/error.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/stacked_rows.hpp>
#include <tq/ptq/detail/triangle.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/float_hessian.hpp>
#include <tq/ptq/hessian.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

// The sums of inputs [first, first + count) of `inputs`.
template <class Sum>
[[nodiscard]] std::vector<Sum> block_sums(const std::vector<Sum>& sums, std::size_t inputs,
                                          std::size_t first, std::size_t count) {
  const Triangle at(inputs);
  std::vector<Sum> out;
  out.reserve(Triangle(count).size());
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = i; j < count; ++j) out.push_back(sums[at.at(first + i, first + j)]);
  return out;
}
[[nodiscard]] inline Hessian::State diagonal_block(const Hessian::State& whole, std::size_t inputs,
                                                   std::size_t first, std::size_t count) {
  const auto begin = whole.exponents.begin() + static_cast<std::ptrdiff_t>(first);
  return {whole.bits,
          whole.tokens,
          whole.left_out,
          {begin, begin + static_cast<std::ptrdiff_t>(count)},
          block_sums(whole.sums, inputs, first, count)};
}
[[nodiscard]] inline FloatHessian::State diagonal_block(const FloatHessian::State& whole,
                                                        std::size_t inputs, std::size_t first,
                                                        std::size_t count) {
  return {count, whole.tokens, whole.left_out, block_sums(whole.sums, inputs, first, count)};
}

}  // namespace detail

/// The Hessians of a layer whose outputs read the inputs of their own group only: a convolution,
/// grouped or depthwise, of which group g reads the inputs [g * inputs(), (g + 1) * inputs()) of
/// `conv_patches`. `H` is `Hessian` or `FloatHessian`; bits are as exact as those of `H`.
template <HessianMatrix H>
class HessianStack {
 public:
  /// Throws: `errc::bad_argument` for no groups; `errc::shape_mismatch` for groups of different
  /// inputs.
  explicit HessianStack(std::vector<H> groups) : groups_(std::move(groups)) {
    detail::require_same_inputs("tq::HessianStack", groups_);
  }
  /// Without tokens. Throws: `errc::bad_argument` for no groups and no inputs of a group.
  HessianStack(std::size_t groups, std::size_t inputs)
    requires std::same_as<H, FloatHessian>
      : HessianStack(std::vector<H>(groups, FloatHessian(inputs))) {}
  /// Without tokens, with steps from the range of every input: the last axis of activations
  /// [..., groups * inputs]. Throws: as `Hessian`; `errc::bad_argument` for no groups;
  /// `errc::shape_mismatch` for inputs that are no multiple of `groups`.
  template <int Axis, class NonFinite>
  HessianStack(std::size_t groups, const Observer<AbsMax, PerChannel<Axis>, NonFinite>& range,
               int bits = 14)
    requires std::same_as<H, Hessian>
      : HessianStack(groups, range.accumulators(), bits) {}
  /// The same from the range of each input.
  HessianStack(std::size_t groups, std::span<const AbsMax> inputs, int bits = 14)
    requires std::same_as<H, Hessian>
      : HessianStack(of_ranges(groups, inputs, bits)) {}

  /// The groups of the Hessian of all inputs: the blocks of its diagonal. Throws:
  /// `errc::bad_argument` for no groups; `errc::shape_mismatch` for inputs that are no multiple of
  /// `groups`.
  [[nodiscard]] static HessianStack of_whole(const H& whole, std::size_t groups) {
    require_multiple(groups, whole.inputs());
    const typename H::State state = whole.state();
    std::vector<H> out;
    out.reserve(groups);
    for (std::size_t g = 0; g < groups; ++g)
      out.push_back(H::from_state(detail::diagonal_block(
          state, whole.inputs(), g * (whole.inputs() / groups), whole.inputs() / groups)));
    return HessianStack(std::move(out));
  }

  /// Adds the tokens of activations [..., groups * inputs], which count as float32. A token with
  /// NaN or infinities is left out of the groups that have them. The result does not depend on
  /// `executor`. Throws: `errc::shape_mismatch` for other inputs; as `H`. Nothing is added then.
  template <class Arch = arch::native, Executor E = Serial, Readable X = ConstTensorView>
  void add(const X& x, const E& executor = serial) {
    const auto floats = detail::read_floats("tq::HessianStack::add", x);
    const ConstTensorView& view = floats.view();
    const int last = view.shape().rank() - 1;
    if (last < 0 || view.shape()[last] != groups() * inputs())
      detail::raise_expected(errc::shape_mismatch, "tq::HessianStack::add",
                             {"activations of shape [..., ", groups() * inputs(), "], ", groups(),
                              " groups of ", inputs(), " inputs"},
                             {view.shape().extents()});
    std::vector<H> sums = groups_;
    detail::for_each_group(groups(), executor, [&](std::size_t g, const auto& inner) {
      sums[g].template add<Arch>(view.slice(last, g * inputs(), (g + 1) * inputs()), inner);
    });
    groups_ = std::move(sums);
  }

  /// Takes the tokens of another stack. Throws: `errc::shape_mismatch` for other groups; as `H`.
  /// Nothing is added then.
  void merge(const HessianStack& other) {
    detail::require_count("tq::HessianStack::merge", "groups", groups(), other.groups());
    std::vector<H> sums = groups_;
    for (std::size_t g = 0; g < groups(); ++g) sums[g].merge(other[g]);
    groups_ = std::move(sums);
  }

  [[nodiscard]] std::size_t groups() const noexcept { return groups_.size(); }
  /// Inputs of a group.
  [[nodiscard]] std::size_t inputs() const noexcept { return groups_.front().inputs(); }
  /// Precondition: g < groups().
  [[nodiscard]] const H& operator[](std::size_t g) const noexcept { return groups_[g]; }
  /// The fewest tokens that were added to a group.
  [[nodiscard]] std::uint64_t tokens() const noexcept {
    return std::ranges::min(groups_, {}, &H::tokens).tokens();
  }
  /// The most tokens that a group left out.
  [[nodiscard]] std::uint64_t left_out() const noexcept {
    return std::ranges::max(groups_, {}, &H::left_out).left_out();
  }
  friend bool operator==(const HessianStack&, const HessianStack&) = default;

 private:
  static void require_multiple(std::size_t groups, std::size_t inputs) {
    detail::require_groups("tq::HessianStack", groups);
    if (inputs % groups != 0)
      detail::raise_expected(errc::shape_mismatch, "tq::HessianStack",
                             {"a multiple of ", groups, " inputs"}, {inputs});
  }
  static std::vector<H> of_ranges(std::size_t groups, std::span<const AbsMax> inputs, int bits) {
    require_multiple(groups, inputs.size());
    const std::size_t n = inputs.size() / groups;
    std::vector<H> out;
    out.reserve(groups);
    for (std::size_t g = 0; g < groups; ++g) out.emplace_back(inputs.subspan(g * n, n), bits);
    return out;
  }

  std::vector<H> groups_;
};

}  // namespace tq
