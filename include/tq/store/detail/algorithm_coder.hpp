// SPDX-License-Identifier: MIT
#pragma once
// AlgorithmCoder: codes of a layer by an algorithm, under parameters that a format stores.

#include <tq/checkpoints/detail/encode_stored.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ptq/detail/block_search.hpp>
#include <tq/ptq/detail/encoded_rounding.hpp>
#include <tq/ptq/detail/searched_scales.hpp>
#include <tq/ptq/encode_weights.hpp>
#include <tq/ptq/hessian.hpp>
#include <tq/ptq/weight_report.hpp>
#include <tq/ptq/weighted_search.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/weight_algorithm.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tq::store::detail {

// Rounds values of a block to codes under the numbers that a format stores for a range.
class StoredRounding {
  using Types = tq::detail::written_elements;
  using Scales = tq::detail::written_scales;
  using Rounding = tq::detail::EncodedRounding<>;

 public:
  StoredRounding(const QuantSpec& spec, const EncodedLayout& layout,
                 const io::WeightCoder::Parameters& parameters)
      : has_offset(layout.has_offsets),
        has_origin(layout.has_offsets || layout.has_zero_points),
        parameters_(&parameters),
        rounding_(Rounding::of<Types, Scales>(spec, layout)) {}

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

// Chooses ranges and codes by the algorithm and the Hessian of the layer, which outlive the coder,
// and notes the results in a report.
class AlgorithmCoder final : public io::WeightCoder {
 public:
  AlgorithmCoder(const WeightAlgorithm& algorithm, const Hessian& hessian, WeightReport& report)
      : algorithm_(algorithm), hessian_(hessian), report_(report) {}

  [[nodiscard]] EncodedTensor encode(const ConstTensorView& x, const QuantSpec& spec,
                                     std::span<const Range> seen,
                                     const Parameters& parameters) const override {
    if (x.shape().rank() != 2)
      raise(errc::unsupported, "expected scales along rows for algorithm " + algorithm_.name +
                                   ", got " + to_string(spec) + " of the flat tensor");
    double loss_of_rtn = 0;
    if (algorithm_.name == "rtn-weighted") {
      EncodedTensor rounded = with_shape(parameters(seen), x);
      loss_of_rtn = recode({.name = "rtn"}, x, rounded).loss;
    }
    EncodedTensor out = tq::detail::searches_scales(algorithm_)
                            ? parameters(best_ranges(x, spec, seen, parameters))
                            : parameters(seen);
    out = with_shape(std::move(out), x);
    report_ = recode(algorithm_, x, out);
    if (algorithm_.name == "rtn-weighted") report_.loss_of_rounding = loss_of_rtn;
    return out;
  }

 private:
  static EncodedTensor with_shape(EncodedTensor tensor, const ConstTensorView& x) {
    tensor.shape = x.shape();
    return tensor;
  }
  WeightReport recode(const WeightAlgorithm& algorithm, const ConstTensorView& x,
                      EncodedTensor& tensor) const {
    return recode_weights<tq::detail::written_elements, tq::detail::written_scales>(
        x, hessian_, algorithm, tensor);
  }
  // The range of each block whose stored numbers leave the least error, weighted by the diagonal.
  [[nodiscard]] std::vector<Range> best_ranges(const ConstTensorView& x, const QuantSpec& spec,
                                               std::span<const Range> seen,
                                               const Parameters& parameters) const {
    if (spec.scale_type == DoubleQuantized::name)
      raise(errc::unsupported, "expected scales that stand by themselves for a search, got " +
                                   to_string(spec) +
                                   "; `scales` min_max of gptq takes those of ranges");
    std::vector<Range> ranges(seen.begin(), seen.end());
    if (x.size() == 0) return ranges;
    const WeightedSearch search(hessian_, algorithm_.damping);
    tq::detail::require_weights("tq::write_checkpoint", x, search.importances().size());
    const EncodedLayout layout =
        encoded_layout<tq::detail::written_elements, tq::detail::written_scales>(spec, x.shape());
    using Search = tq::detail::BlockSearch<StoredRounding>;
    tq::detail::search_blocks(
        x, search.importances(), AnyGranularity(spec),
        Search(StoredRounding(spec, layout, parameters)), serial,
        [&](Search& block, std::size_t i) { ranges[i] = block.best_range(); });
    return ranges;
  }

  const WeightAlgorithm& algorithm_;
  const Hessian& hessian_;
  WeightReport& report_;
};

}  // namespace tq::store::detail
