// SPDX-License-Identifier: MIT
#pragma once
// encode_weights: weights in a scheme that is a value, by an algorithm that is a value.

#include <tq/arch/isa.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/readable.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/coordinate_descent.hpp>
#include <tq/ptq/detail/encoded_codes_of.hpp>
#include <tq/ptq/detail/encoded_rounding.hpp>
#include <tq/ptq/detail/hessians_of.hpp>
#include <tq/ptq/detail/hqq_encoded.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/detail/searched_scales.hpp>
#include <tq/ptq/detail/stacked_rows.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/factor_stack.hpp>
#include <tq/ptq/gptq.hpp>
#include <tq/ptq/weight_report.hpp>
#include <tq/ptq/weighted_search.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/weight_algorithm.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

// Calls f(code) with a number of the bytes of a code.
template <class F>
decltype(auto) with_code_bytes(const EncodedLayout& layout, F&& f) {
  return layout.code_size() == 1 ? f(std::uint8_t{}) : f(std::uint16_t{});
}

[[nodiscard]] inline ColumnOrder column_order_of(const WeightAlgorithm& algorithm,
                                                 const QuantSpec& spec, const Shape& shape) {
  if (algorithm.order == "natural") return NaturalOrder{};
  if (algorithm.order == "activation") return ByActivation{};
  const Shape block = AnyGranularity(spec).block(shape);
  std::size_t columns = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) columns *= block[axis];
  return ByGroup{columns};
}

// Runs coordinate descent over the codes of `tensor`, or measures their loss with no sweep.
// `plan(g)` is that of a group of `hessians`.
template <class Types, class ScaleTypes, Backend B, class Arch, class Hessians, class Plan,
          Executor E>
DescentResult descend_encoded(const StackedRows& weights, const Hessians& hessians,
                              const Plan& plan, EncodedTensor& tensor, const EncodedLayout& layout,
                              const E& executor) {
  const auto rounding = EncodedRounding<B>::template of<Types, ScaleTypes>(tensor.spec, layout);
  return with_code_bytes(layout, [&]<class Code>(Code) {
    using Grid = EncodedGrid<Code, B>;
    using Strip = DescentStrip<Grid, Arch>;
    const std::vector<float> values = decode<Types, ScaleTypes>(tensor);
    Buffer<Code> codes(values.size());
    const auto bytes = std::as_writable_bytes(codes.span());
    if (layout.bits < 8) unpack_codes<B>(tensor.codes.span(), bytes, layout);
    else std::ranges::copy(tensor.codes.span(), bytes.begin());
    const EncodedGroups groups(tensor);
    const Grid grid(Strip::rows, rounding);
    const DescentResult out = descend(
        weights, [&](std::size_t g) -> const auto& { return hessians[g]; }, plan,
        DescentCodes<Strip, EncodedGroups>{groups, grid, values.data(), codes.data()}, executor);
    if (!out.changed.empty()) set_codes<B>(tensor, layout, bytes);
    return out;
  });
}

// Error feedback under the parameters of `tensor`, whose codes it sets.
template <class Types, class ScaleTypes, Backend B, class Arch, class Hessians, Executor E>
WeightReport gptq_encoded(const StackedRows& weights, const Hessians& hessians,
                          const WeightAlgorithm& algorithm, EncodedTensor& tensor,
                          const EncodedLayout& layout, const E& executor) {
  const FactorStack factors = factors_of<Arch>(
      hessians.groups(), [&](std::size_t g) -> const auto& { return hessians[g]; },
      {.damping = algorithm.damping,
       .order = column_order_of(algorithm, tensor.spec, weights.shape()),
       .allow_few_tokens = algorithm.allow_few_tokens},
      executor);
  const auto rounding = EncodedRounding<B>::template of<Types, ScaleTypes>(tensor.spec, layout);
  WeightReport report{.algorithm = algorithm.name,
                      .tokens = factors.tokens(),
                      .dead_columns = factors.dead_columns(),
                      .damping = factors.damping_used()};
  with_code_bytes(layout, [&]<class Code>(Code) {
    using Grid = EncodedGrid<Code, B>;
    using Strip = GptqStrip<Grid, Arch>;
    const GptqRows<Code> rows = gptq_rows<Strip>(weights, factors, EncodedGroups(tensor),
                                                 Grid(Strip::lanes, rounding), executor);
    set_codes<B>(tensor, layout, std::as_bytes(rows.codes.span()));
    for (std::size_t r = 0; r < rows.chosen.size(); ++r) {
      report.loss += rows.chosen[r].plain;
      report.loss_of_rounding += rows.rounded[r].plain;
      report.rounded_rows += rows.is_rounded[r];
    }
  });
  if (algorithm.sweeps == 0) return report;
  const DescentResult after = descend_encoded<Types, ScaleTypes, B, Arch>(
      weights, hessians,
      [&](std::size_t g) {
        return DescentPlan{factors[g].damping_used(), factors[g].order(), algorithm.sweeps};
      },
      tensor, layout, executor);
  report.loss = after.loss;
  for (const std::size_t changed : after.changed) report.changed_codes += changed;
  return report;
}

/// Checks the algorithm. Throws: as `validate`; `errc::bad_argument` for "hqq".
inline void require_takes_hessian(const std::string& function, const WeightAlgorithm& algorithm) {
  validate(algorithm);
  if (algorithm.name == "hqq")
    raise_expected(errc::bad_argument, function, {"rtn, rtn-weighted or gptq beside a Hessian"},
                   {"hqq"});
}

template <class Types, class ScaleTypes, Backend B, class Arch, class Hessians, Executor E>
[[nodiscard]] double loss_of_codes(const StackedRows& weights, const Hessians& hessians,
                                   EncodedTensor& tensor, const EncodedLayout& layout,
                                   const E& executor) {
  constexpr auto measure = [](std::size_t) { return DescentPlan{0.0, {}, 0}; };
  return descend_encoded<Types, ScaleTypes, B, Arch>(weights, hessians, measure, tensor, layout,
                                                     executor)
      .loss;
}

}  // namespace detail

/// The parameters of `calibrate` with a `WeightedSearch`, for a scheme that is a value: an encoded
/// tensor without codes, with the same bits. Throws: as `calibrate`; as `encoded_layout`;
/// `errc::unsupported` for casts, for scales that are double quantized or of super-blocks, and for
/// a scheme with a calibrator, which has no part in these scales.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, Executor E = Serial, Readable X = ConstTensorView>
[[nodiscard]] EncodedTensor weighted_parameters(const X& weights, const QuantSpec& spec,
                                                const WeightedSearch& search,
                                                const E& executor = serial) {
  constexpr const char* function = "tq::weighted_parameters";
  const auto floats = detail::read_floats(function, weights);
  const auto& view = floats.view();
  const detail::StackedRows rows(function, view, search.groups(),
                                 search.importances().size() / search.groups());
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(spec, view.shape());
  if (spec.is_cast() || spec.scale_type == DoubleQuantized::name ||
      detail::names_super_block(spec.scale_type))
    detail::raise_expected(errc::unsupported, function,
                           {"scales that stand by themselves or on two levels"},
                           {to_string(spec), "; `scales` min_max of gptq takes those of ranges"});
  detail::require_no_calibrator(function, spec);
  const AnyGranularity granularity(spec);
  using Search = detail::BlockSearch<detail::EncodedRounding<B>>;
  const Search blocks(detail::EncodedRounding<B>::template of<Types, ScaleTypes>(spec, layout));
  std::vector<Range> ranges(layout.scales.size());
  const bool two_level = layout.stored.factors != 0;
  const auto for_each_block = [&](const auto& f) {
    if (view.size() != 0)
      detail::search_blocks(rows, search.importances(), granularity, blocks, executor, f);
  };
  for_each_block([&](Search& some, std::size_t i) {
    ranges[i] = two_level ? some.seen() : some.best_range();
  });
  EncodedTensor out = fitted_parameters<Types, ScaleTypes>(spec, ranges);
  out.shape = view.shape();
  if (!two_level || view.size() == 0) return out;
  visit_scale<ScaleTypes>(spec, [&]<class Scale>() {
    if constexpr (detail::is_e4m3_two_level<Scale>)
      out.scales =
          detail::searched_codes<Scale>(*out.scales.get_if<Scales<Scale>>(), for_each_block);
    else
      detail::raise_expected(errc::unsupported, function, {"E4M3 scales on two levels"},
                             {to_string(spec)});
  });
  return out;
}

namespace detail {

// Chooses the codes of `tensor` anew, under the parameters that it has.
template <class Types, class ScaleTypes, Backend B, class Arch, class Hessians, Executor E>
WeightReport recode(const StackedRows& weights, const Hessians& hessians,
                    const WeightAlgorithm& algorithm, EncodedTensor& tensor, const E& executor) {
  require_shape("tq::recode_weights", "weights", tensor.shape, weights.shape());
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(tensor.spec, tensor.shape);
  require_parameters<Types, ScaleTypes>(tensor, layout);
  if (algorithm.name == "gptq")
    return gptq_encoded<Types, ScaleTypes, B, Arch>(weights, hessians, algorithm, tensor, layout,
                                                    executor);
  round_codes<Types, ScaleTypes, B>(weights.weights(), tensor, layout, executor);
  WeightReport report{.algorithm = algorithm.name, .tokens = hessians.tokens()};
  report.loss = report.loss_of_rounding =
      loss_of_codes<Types, ScaleTypes, B, Arch>(weights, hessians, tensor, layout, executor);
  for (std::size_t g = 0; g < hessians.groups(); ++g)
    for (std::size_t i = 0; i < hessians.inputs(); ++i)
      report.dead_columns += hessians[g](i, i) == 0;
  return report;
}

}  // namespace detail

/// Chooses the codes of `tensor` for `weights` [outputs, inputs] anew, under the parameters that it
/// has: by error feedback for "gptq", to nearest for "rtn" and "rtn-weighted". `h` is a Hessian, or
/// the `HessianStack` of a grouped layer with weights as `gptq` takes them. Throws:
/// `errc::bad_argument` for "hqq", which has parameters of its own; `errc::shape_mismatch` for
/// weights of another shape, and for a Hessian of other inputs; as `gptq` and `factor`; as `decode`
/// for parameters that the scheme does not have.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, class Arch = arch::native, class H, Executor E = Serial,
          Readable X = ConstTensorView>
  requires detail::AnyHessian<H>
WeightReport recode_weights(const X& weights, const H& h, const WeightAlgorithm& algorithm,
                            EncodedTensor& tensor, const E& executor = serial) {
  constexpr const char* function = "tq::recode_weights";
  detail::require_takes_hessian(function, algorithm);
  const auto floats = detail::read_floats(function, weights);
  const auto hessians = detail::hessians_of(h);
  const detail::StackedRows rows(function, floats.view(), hessians.groups(), hessians.inputs());
  return detail::recode<Types, ScaleTypes, B, Arch>(rows, hessians, algorithm, tensor, executor);
}

/// A tensor, and how its codes were found.
struct EncodedWeights {
  EncodedTensor tensor;
  WeightReport report;
};

namespace detail {

/// Weights by an algorithm that takes a Hessian, and their losses. `of_ranges()` has parameters of
/// ranges, `of_search()` parameters that are searched: tensors of the shape of `weights`.
template <class Types, class ScaleTypes, Backend B, class Arch, class Hessians, Executor E,
          class OfRanges, class OfSearch>
[[nodiscard]] EncodedWeights encode_with(const StackedRows& weights, const Hessians& hessians,
                                         const WeightAlgorithm& algorithm, const E& executor,
                                         const OfRanges& of_ranges, const OfSearch& of_search) {
  const auto recoded = [&](const WeightAlgorithm& by, EncodedTensor& tensor) {
    return recode<Types, ScaleTypes, B, Arch>(weights, hessians, by, tensor, executor);
  };
  double loss_of_rtn = 0;
  const bool is_rounding = algorithm.name == "rtn-weighted";
  if (is_rounding) {
    EncodedTensor rounded = of_ranges();
    loss_of_rtn = recoded({.name = "rtn"}, rounded).loss;
  }
  EncodedWeights out{searches_scales(algorithm) ? of_search() : of_ranges(), {}};
  out.report = recoded(algorithm, out.tensor);
  if (is_rounding) out.report.loss_of_rounding = loss_of_rtn;
  return out;
}

}  // namespace detail

/// Weights [outputs, inputs] in a scheme and by an algorithm that are values, with the same bits on
/// every machine and for every executor. `h` has the mean products of their inputs; a
/// `HessianStack` those of a grouped layer, with weights as `gptq` takes them. Throws: as
/// `encode`; as `weighted_parameters` for scales that are searched; as `recode_weights`;
/// `errc::bad_argument` for "hqq", which takes no Hessian.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, class Arch = arch::native, class H, Executor E = Serial,
          Readable X = ConstTensorView>
  requires detail::AnyHessian<H>
[[nodiscard]] EncodedWeights encode_weights(const X& weights, const QuantSpec& spec, const H& h,
                                            const WeightAlgorithm& algorithm,
                                            const E& executor = serial) {
  constexpr const char* function = "tq::encode_weights";
  detail::require_takes_hessian(function, algorithm);
  const auto floats = detail::read_floats(function, weights);
  const auto& view = floats.view();
  const auto hessians = detail::hessians_of(h);
  const detail::StackedRows rows(function, view, hessians.groups(), hessians.inputs());
  return detail::encode_with<Types, ScaleTypes, B, Arch>(
      rows, hessians, algorithm, executor,
      [&] { return encode<Types, ScaleTypes, B>(view, spec, NonFinite::raise, executor); },
      [&] {
        return weighted_parameters<Types, ScaleTypes, B>(
            view, spec, hessians.search(algorithm.damping), executor);
      });
}

/// The same by "hqq" or "rtn", which need no Hessian. Scales are those of ranges, and hqq keeps the
/// best offset of each group by its mean absolute error. The losses are sums of absolute errors of
/// weights. Throws: as `encode`; `errc::bad_argument` for algorithms that need a Hessian;
/// `errc::unsupported` for "hqq" and a scheme without float offsets; `errc::shape_mismatch` for
/// weights of another rank; `errc::not_finite` for NaN or infinite weights.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, Executor E = Serial, Readable X = ConstTensorView>
[[nodiscard]] EncodedWeights encode_weights(const X& weights, const QuantSpec& spec,
                                            const WeightAlgorithm& algorithm,
                                            const E& executor = serial) {
  constexpr const char* function = "tq::encode_weights";
  validate(algorithm);
  if (algorithm.needs_hessian())
    detail::raise_expected(errc::bad_argument, function,
                           {"a Hessian for algorithm ", algorithm.name}, {"none"});
  const auto floats = detail::read_floats(function, weights);
  const auto& view = floats.view();
  if (view.shape().rank() != 2)
    detail::raise_expected(errc::shape_mismatch, function, {"weights of shape [outputs, inputs]"},
                           {view.shape().extents()});
  detail::require_weights(function, view, view.shape()[1]);
  const bool is_hqq = algorithm.name == "hqq";
  if (is_hqq) detail::require_float_offsets(function, spec);
  EncodedWeights out{encode<Types, ScaleTypes, B>(view, spec, NonFinite::raise, executor),
                     {.algorithm = algorithm.name}};
  out.report.loss = out.report.loss_of_rounding =
      detail::absolute_error<Types, ScaleTypes>(view, out.tensor);
  if (!is_hqq || view.size() == 0) return out;
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(spec, view.shape());
  detail::set_hqq_offsets<Types, ScaleTypes, B>(view, {.norm = algorithm.norm}, out.tensor, layout,
                                                executor);
  out.report.loss = detail::absolute_error<Types, ScaleTypes>(view, out.tensor);
  return out;
}

}  // namespace tq
