// SPDX-License-Identifier: MIT
#pragma once
// Measured costs and errors of schemes for a tensor.

#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/model/guess_node_kind.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/weight_axes.hpp>
#include <tq/ops/compare.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/select/precision_model.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// sum d^2 / sum w^2: 10^(-SQNR / 10), which adds up where dB do not.
[[nodiscard]] inline double relative_error(const ErrorMetrics& metrics) noexcept {
  return std::pow(10.0, -metrics.sqnr_db / 10);
}

/// The relative error of values of which `back` came back.
struct WeightError {
  [[nodiscard]] double operator()(std::span<const float> values,
                                  std::span<const float> back) const {
    Comparison<> lost;
    lost.add(values, back);
    return relative_error(lost.metrics());
  }
};

/// The work of a candidate that takes `seconds`: decoding it, if the time was measured.
[[nodiscard]] constexpr TimedWork timed_decoding(double seconds) noexcept {
  return seconds > 0 ? TimedWork::decode : TimedWork::none;
}

/// The candidate that leaves a tensor as it is.
[[nodiscard]] inline PrecisionCandidate float_candidate(std::uint64_t bytes, double seconds = 0) {
  return {std::string(float_scheme), bytes, 0, seconds, Evidence::measured,
          timed_decoding(seconds)};
}

/// The median time of `runs` calls of f(), in seconds. Precondition: runs > 0.
template <class F>
[[nodiscard]] double median_seconds(std::size_t runs, F&& f) {
  using clock = std::chrono::steady_clock;
  std::vector<double> seconds(runs);
  for (double& s : seconds) {
    const clock::time_point start = clock::now();
    f();
    s = std::chrono::duration<double>(clock::now() - start).count();
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(runs / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

/// A tensor in a scheme: what it takes, and the error of what comes back, which is in `back`, as
/// error_of(values, back): a `WeightError`, or an `ExpectedError` of outputs. `Coder` is a
/// `PieceCoder` for all types that schemes name; with `timed_runs`, the seconds are the median time
/// to decode all weights, which `set_product_times` replaces. Throws: as `PieceCoder`;
/// `errc::shape_mismatch` unless there are as many values, in both, as the shape has elements.
template <class Coder, class ErrorOf = WeightError>
[[nodiscard]] PrecisionCandidate measured_candidate(Coder& coder, const NamedScheme& scheme,
                                                    std::span<const float> values,
                                                    const Shape& shape, std::span<float> back,
                                                    std::size_t timed_runs = 0,
                                                    const ErrorOf& error_of = {}) {
  for (const std::size_t size : {values.size(), back.size()})
    if (size != shape.size())
      detail::raise_expected(errc::shape_mismatch, "tq::measured_candidate",
                             {shape.size(), " values"}, {size});
  coder.start(scheme.spec, shape);
  coder.observe(0, values);
  coder.fit();
  std::vector<std::byte> codes(coder.code_bytes(values.size()));
  coder.encode(0, values, codes);
  coder.decode(0, codes, back);
  PrecisionCandidate out{scheme.name, coder.layout().bytes(),
                         error_of(values, std::span<const float>(back))};
  if (timed_runs > 0) {
    out.seconds = median_seconds(timed_runs, [&] { coder.decode(0, codes, back); });
    out.timed = TimedWork::decode;
  }
  return out;
}

/// A tensor of float32 values in all of some schemes, with the granularities that its name and
/// shape suggest (`spec_for`), and as it is. Schemes whose error has no bound relative to the
/// tensor (something for nothing) are left out. Errors are those of `measured_candidate`. Throws:
/// as `measured_candidate`.
template <class Coder, class ErrorOf = WeightError>
[[nodiscard]] PrecisionNode measured_node(Coder& coder, std::string name,
                                          std::span<const float> values, const Shape& shape,
                                          std::span<const NamedScheme> schemes,
                                          std::size_t timed_runs = 0,
                                          const ErrorOf& error_of = {}) {
  std::vector<float> back(values.size());
  const auto copy = [&] { std::copy(values.begin(), values.end(), back.begin()); };
  const NodeKind kind = guess_node_kind(name, shape.extents());
  const WeightAxes axes = weight_axes(name, kind, shape.extents());
  PrecisionNode node{std::move(name), values.size(), {}};
  node.candidates.push_back(float_candidate(
      values.size() * sizeof(float), timed_runs == 0 ? 0 : median_seconds(timed_runs, copy)));
  for (const NamedScheme& scheme : schemes) {
    const NamedScheme fitting{scheme.name, spec_for(scheme.spec, shape.extents(), axes)};
    PrecisionCandidate c =
        measured_candidate(coder, fitting, values, shape, back, timed_runs, error_of);
    if (std::isfinite(c.error)) node.candidates.push_back(std::move(c));
  }
  return node;
}

}  // namespace tq
