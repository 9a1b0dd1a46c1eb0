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
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/detail/searched_scales.hpp>
#include <tq/ptq/factor.hpp>
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
  return ByGroup{AnyGranularity(spec).block(shape)[1]};
}

// Runs coordinate descent over the codes of `tensor`, or measures their loss with no sweep.
template <class Types, class ScaleTypes, Backend B, class Arch, HessianMatrix H, Executor E>
DescentResult descend_encoded(const ConstTensorView& view, const H& h, const DescentPlan& plan,
                              EncodedTensor& tensor, const EncodedLayout& layout,
                              const E& executor) {
  const auto rounding = EncodedRounding<B>::template of<Types, ScaleTypes>(tensor.spec, layout);
  return with_code_bytes(layout, [&]<class Code>(Code) {
    using Grid = EncodedGrid<Code, B>;
    using Strip = DescentStrip<Grid, Arch>;
    const std::vector<float> values = decode<Types, ScaleTypes>(tensor);
    Buffer<Code> codes(view.size());
    const auto bytes = std::as_writable_bytes(codes.span());
    if (layout.bits < 8) unpack_codes<B>(tensor.codes.span(), bytes, layout);
    else std::ranges::copy(tensor.codes.span(), bytes.begin());
    const EncodedGroups groups(tensor);
    const Grid grid(Strip::rows, rounding);
    const DescentResult out = descend(
        view, h, plan,
        DescentCodes<Strip, EncodedGroups>{groups, grid, values.data(), codes.data()}, executor);
    if (plan.sweeps != 0) set_codes<B>(tensor, layout, bytes);
    return out;
  });
}

// Error feedback under the parameters of `tensor`, whose codes it sets.
template <class Types, class ScaleTypes, Backend B, class Arch, HessianMatrix H, Executor E>
WeightReport gptq_encoded(const ConstTensorView& view, const H& h, const WeightAlgorithm& algorithm,
                          EncodedTensor& tensor, const EncodedLayout& layout, const E& executor) {
  const HessianFactor factor =
      tq::factor<Arch>(h,
                       {.damping = algorithm.damping,
                        .order = column_order_of(algorithm, tensor.spec, view.shape()),
                        .allow_few_tokens = algorithm.allow_few_tokens},
                       executor);
  const auto rounding = EncodedRounding<B>::template of<Types, ScaleTypes>(tensor.spec, layout);
  WeightReport report{.algorithm = algorithm.name,
                      .tokens = factor.tokens(),
                      .dead_columns = factor.dead_columns(),
                      .damping = factor.damping_used()};
  with_code_bytes(layout, [&]<class Code>(Code) {
    using Grid = EncodedGrid<Code, B>;
    using Strip = GptqStrip<Grid, Arch>;
    const GptqRows<Code> rows = gptq_rows<Strip>(view, factor, EncodedGroups(tensor),
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
      view, h, {factor.damping_used(), factor.order(), algorithm.sweeps}, tensor, layout, executor);
  report.loss = after.loss;
  for (const std::size_t changed : after.changed) report.changed_codes += changed;
  return report;
}

template <class Types, class ScaleTypes, Backend B, class Arch, HessianMatrix H, Executor E>
[[nodiscard]] double loss_of_codes(const ConstTensorView& view, const H& h, EncodedTensor& tensor,
                                   const EncodedLayout& layout, const E& executor) {
  return descend_encoded<Types, ScaleTypes, B, Arch>(view, h, {0.0, {}, 0}, tensor, layout,
                                                     executor)
      .loss;
}

}  // namespace detail

/// The parameters of `calibrate` with a `WeightedSearch`, for a scheme that is a value: an encoded
/// tensor without codes, with the same bits. Throws: as `calibrate`; as `encoded_layout`;
/// `errc::unsupported` for casts, for scales that are double quantized, and for a scheme with a
/// calibrator, which has no part in these scales.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, Executor E = Serial, Readable X = ConstTensorView>
[[nodiscard]] EncodedTensor weighted_parameters(const X& weights, const QuantSpec& spec,
                                                const WeightedSearch& search,
                                                const E& executor = serial) {
  constexpr const char* function = "tq::weighted_parameters";
  const auto floats = detail::read_floats(function, weights);
  const auto& view = floats.view();
  detail::require_weights(function, view, search.importances().size());
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(spec, view.shape());
  if (spec.is_cast() || spec.scale_type == DoubleQuantized::name)
    raise(errc::unsupported,
          std::string(function) +
              ": expected scales that stand by themselves or on two levels, got " +
              to_string(spec));
  detail::require_no_calibrator(function, spec);
  const AnyGranularity granularity(spec);
  using Search = detail::BlockSearch<detail::EncodedRounding<B>>;
  const Search blocks(detail::EncodedRounding<B>::template of<Types, ScaleTypes>(spec, layout));
  std::vector<Range> ranges(layout.scales.size());
  const bool two_level = layout.stored.factors != 0;
  const auto for_each_block = [&](const auto& f) {
    if (view.size() != 0)
      detail::search_blocks(view, search.importances(), granularity, blocks, executor, f);
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
      raise(errc::unsupported,
            std::string(function) + ": expected E4M3 scales on two levels, got " + to_string(spec));
  });
  return out;
}

/// Chooses the codes of `tensor` for `weights` [outputs, inputs] anew, under the parameters that it
/// has: by error feedback for "gptq", to nearest for the others. Throws: `errc::shape_mismatch` for
/// weights of another shape, and for a Hessian of other inputs; as `gptq` and `factor`; as `decode`
/// for parameters that the scheme does not have.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, class Arch = arch::native, HessianMatrix H,
          Executor E = Serial, Readable X = ConstTensorView>
WeightReport recode_weights(const X& weights, const H& h, const WeightAlgorithm& algorithm,
                            EncodedTensor& tensor, const E& executor = serial) {
  constexpr const char* function = "tq::recode_weights";
  validate(algorithm);
  const auto floats = detail::read_floats(function, weights);
  const auto& view = floats.view();
  detail::require_weights(function, view, h.inputs());
  detail::require_shape(function, "weights", tensor.shape, view.shape());
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(tensor.spec, tensor.shape);
  detail::require_parameters<Types, ScaleTypes>(tensor, layout);
  if (algorithm.name == "gptq")
    return detail::gptq_encoded<Types, ScaleTypes, B, Arch>(view, h, algorithm, tensor, layout,
                                                            executor);
  detail::round_codes<Types, ScaleTypes, B>(view, tensor, layout, executor);
  WeightReport report{.algorithm = algorithm.name, .tokens = h.tokens()};
  report.loss = report.loss_of_rounding =
      detail::loss_of_codes<Types, ScaleTypes, B, Arch>(view, h, tensor, layout, executor);
  for (std::size_t i = 0; i < h.inputs(); ++i) report.dead_columns += h(i, i) == 0;
  return report;
}

/// A tensor, and how its codes were found.
struct EncodedWeights {
  EncodedTensor tensor;
  WeightReport report;
};

/// Weights [outputs, inputs] in a scheme and by an algorithm that are values, with the same bits on
/// every machine and for every executor. `h` has the mean products of their inputs. Throws: as
/// `encode`; as `weighted_parameters` for scales that are searched; as `recode_weights`.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, class Arch = arch::native, HessianMatrix H,
          Executor E = Serial, Readable X = ConstTensorView>
[[nodiscard]] EncodedWeights encode_weights(const X& weights, const QuantSpec& spec, const H& h,
                                            const WeightAlgorithm& algorithm,
                                            const E& executor = serial) {
  validate(algorithm);
  const auto floats = detail::read_floats("tq::encode_weights", weights);
  const auto& view = floats.view();
  detail::require_weights("tq::encode_weights", view, h.inputs());
  const bool searches = detail::searches_scales(algorithm);
  EncodedWeights out;
  double loss_of_rtn = 0;
  if (!searches || algorithm.name != "gptq")
    out.tensor = encode<Types, ScaleTypes, B>(view, spec, NonFinite::raise, executor);
  if (algorithm.name == "rtn-weighted") {
    const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(spec, view.shape());
    loss_of_rtn =
        detail::loss_of_codes<Types, ScaleTypes, B, Arch>(view, h, out.tensor, layout, executor);
  }
  if (searches)
    out.tensor = weighted_parameters<Types, ScaleTypes, B>(
        view, spec, WeightedSearch(h, algorithm.damping), executor);
  out.report = recode_weights<Types, ScaleTypes, B, Arch>(view, h, algorithm, out.tensor, executor);
  if (algorithm.name == "rtn-weighted") out.report.loss_of_rounding = loss_of_rtn;
  return out;
}

}  // namespace tq
