// SPDX-License-Identifier: MIT
#pragma once
// AlgorithmCoder: codes of a layer by an algorithm, under parameters that a format stores.

#include <tq/arch/isa.hpp>
#include <tq/checkpoints/detail/encode_stored.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ptq/detail/block_search.hpp>
#include <tq/ptq/detail/encoded_codes_of.hpp>
#include <tq/ptq/detail/encoded_rounding.hpp>
#include <tq/ptq/detail/hessians_of.hpp>
#include <tq/ptq/detail/hqq_encoded.hpp>
#include <tq/ptq/detail/hqq_offset.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/detail/searched_scales.hpp>
#include <tq/ptq/detail/stacked_rows.hpp>
#include <tq/ptq/encode_weights.hpp>
#include <tq/ptq/hessian.hpp>
#include <tq/ptq/weight_report.hpp>
#include <tq/ptq/weighted_search.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/weight_algorithm.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Rounds values of a block to codes under the numbers that a format stores for a range.
template <Backend B>
class StoredRounding {
  using Types = tq::detail::written_elements;
  using Scales = tq::detail::written_scales;
  using Rounding = tq::detail::EncodedRounding<B>;

 public:
  StoredRounding(const QuantSpec& spec, const EncodedLayout& layout,
                 const io::WeightCoder::Parameters& parameters)
      : has_offset(layout.has_offsets),
        has_origin(layout.has_offsets || layout.has_zero_points),
        parameters_(&parameters),
        rounding_(Rounding::template of<Types, Scales>(spec, layout)) {}

  bool has_offset, has_origin;

  // The numbers of a block of that range.
  [[nodiscard]] tq::detail::EncodedAffine fit(Range range) const {
    const EncodedTensor block = (*parameters_)({&range, 1});
    tq::detail::EncodedAffine out{block.scales[0]};
    if (!block.zero_points.empty()) out.zero_point = block.zero_points[0];
    if (!block.offsets.empty()) out.offset = block.offsets[0];
    return out;
  }
  template <class A>
  void round(const A& affine, std::span<const float> x, float* values) {
    rounding_.round(affine, x, values);
  }

 private:
  const io::WeightCoder::Parameters* parameters_;
  Rounding rounding_;
};

// A range that half-quadratic splitting moves, with the numbers that a format stores for it.
template <Backend B>
class MovedRange {
 public:
  MovedRange(const StoredRounding<B>& rounding, Range range)
      : rounding_(&rounding), range_(range), affine_(rounding.fit(range)) {}

  [[nodiscard]] const tq::detail::EncodedAffine& affine() const noexcept { return affine_; }
  [[nodiscard]] Range range() const noexcept { return range_; }
  void move(double by) {
    constexpr double most = std::numeric_limits<float>::max();
    const auto moved = [&](float end) {
      return static_cast<float>(std::clamp(double{end} + by, -most, most));
    };
    range_ = {moved(range_.min), moved(range_.max)};
    affine_ = rounding_->fit(range_);
  }

 private:
  const StoredRounding<B>* rounding_;
  Range range_;
  tq::detail::EncodedAffine affine_;
};

// Chooses ranges and codes by the algorithm and the Hessian of the layer, which outlive the coder,
// and notes the results in a report.
template <Backend B>
class AlgorithmCoder final : public io::WeightCoder {
 public:
  // `hessian` may be null for an algorithm that needs none.
  AlgorithmCoder(const WeightAlgorithm& algorithm, const Hessian* hessian, WeightReport& report)
      : algorithm_(algorithm), hessian_(hessian), report_(report) {}

  [[nodiscard]] EncodedTensor encode(const ConstTensorView& x, const QuantSpec& spec,
                                     std::span<const Range> seen,
                                     const Parameters& parameters) const override {
    if (x.shape().rank() != 2)
      tq::detail::raise_expected(errc::unsupported, "",
                                 {"scales along rows for algorithm ", algorithm_.name},
                                 {to_string(spec), " of the flat tensor"});
    if (hessian_ != nullptr)
      tq::detail::require_weights("tq::encode_weights", x, hessian_->inputs());
    const auto stored = [&](std::span<const Range> ranges) {
      EncodedTensor tensor = parameters(ranges);
      tensor.shape = x.shape();
      return tensor;
    };
    EncodedWeights out = hessian_ == nullptr
                             ? by_hqq(x, spec, parameters, stored, seen)
                             : tq::detail::encode_with<Types, Scales, B, arch::native>(
                                   tq::detail::StackedRows(x), tq::detail::hessians_of(*hessian_),
                                   algorithm_, serial, [&] { return stored(seen); },
                                   [&] { return stored(best_ranges(x, spec, seen, parameters)); });
    report_ = out.report;
    return std::move(out.tensor);
  }

 private:
  using Types = tq::detail::written_elements;
  using Scales = tq::detail::written_scales;
  using Search = tq::detail::BlockSearch<StoredRounding<B>>;

  // The range of each block that best(its search, its rounding) chooses.
  template <class Best>
  [[nodiscard]] static std::vector<Range> ranges_by(const ConstTensorView& x, const QuantSpec& spec,
                                                    std::span<const Range> seen,
                                                    const Parameters& parameters,
                                                    std::span<const double> importances,
                                                    const Best& best) {
    std::vector<Range> ranges(seen.begin(), seen.end());
    if (x.size() == 0) return ranges;
    tq::detail::require_weights("tq::write_checkpoint", x, importances.size());
    const EncodedLayout layout = encoded_layout<Types, Scales>(spec, x.shape());
    const StoredRounding<B> rounding(spec, layout, parameters);
    tq::detail::search_blocks(
        tq::detail::StackedRows(x), importances, AnyGranularity(spec), Search(rounding), serial,
        [&](Search& block, std::size_t i) { ranges[i] = best(block, rounding); });
    return ranges;
  }
  // The ranges whose stored numbers leave the least error, weighted by the diagonal.
  [[nodiscard]] std::vector<Range> best_ranges(const ConstTensorView& x, const QuantSpec& spec,
                                               std::span<const Range> seen,
                                               const Parameters& parameters) const {
    if (spec.scale_type == DoubleQuantized::name)
      tq::detail::raise_expected(
          errc::unsupported, "", {"scales that stand by themselves for a search"},
          {to_string(spec), "; `scales` min_max of gptq takes those of ranges"});
    const WeightedSearch search(*hessian_, algorithm_.damping);
    return ranges_by(x, spec, seen, parameters, search.importances(),
                     [](Search& block, const StoredRounding<B>&) { return block.best_range(); });
  }
  // Ranges that are moved for the offsets of half-quadratic splitting.
  template <class Stored>
  [[nodiscard]] EncodedWeights by_hqq(const ConstTensorView& x, const QuantSpec& spec,
                                      const Parameters& parameters, const Stored& stored,
                                      std::span<const Range> seen) const {
    tq::detail::require_float_offsets("tq::write_checkpoint", spec);
    const HqqOptions options{.norm = algorithm_.norm};
    const std::vector<double> importances(x.shape()[1], 1.0);
    const EncodedLayout layout = encoded_layout<Types, Scales>(spec, x.shape());
    const auto rounded = [&](std::span<const Range> ranges, double& loss) {
      EncodedTensor tensor = stored(ranges);
      tq::detail::round_codes<Types, Scales, B>(x, tensor, layout, serial);
      loss = tq::detail::absolute_error<Types, Scales>(x, tensor);
      return tensor;
    };
    EncodedWeights out{{}, {.algorithm = algorithm_.name}};
    static_cast<void>(rounded(seen, out.report.loss_of_rounding));
    out.tensor = rounded(ranges_by(x, spec, seen, parameters, importances,
                                   [&](Search& block, const StoredRounding<B>& rounding) {
                                     return tq::detail::hqq_offset(
                                                block, MovedRange(rounding, block.seen()), options)
                                         .range();
                                   }),
                         out.report.loss);
    return out;
  }

  const WeightAlgorithm& algorithm_;
  const Hessian* hessian_;
  WeightReport& report_;
};

}  // namespace tq::store::detail
