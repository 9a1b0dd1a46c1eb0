// SPDX-License-Identifier: MIT
#pragma once
// PrecisionSelector: a scheme for every tensor of a model, from what was measured.

#include <tq/bodies.hpp>
#include <tq/select/frontier.hpp>
#include <tq/select/precision_model.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

/// The objective of a selection, within the limits of `PrecisionCriteria`.
enum class PrecisionGoal : std::uint8_t {
  performance,  ///< least time where it was measured, otherwise fewest bytes
  balanced,     ///< the knee of the frontier, as `SelectionFrontier::balanced`
  accuracy,     ///< least error, and of equal errors fewest bytes
  custom,       ///< least error where bytes or time are limited, otherwise fewest bytes
};

/// A goal, and limits that hold for each of them. `custom` needs at least one.
struct PrecisionCriteria {
  PrecisionGoal goal = PrecisionGoal::balanced;
  std::optional<double> max_error{};    ///< of the sum of the errors of all nodes
  std::optional<double> min_sqnr_db{};  ///< of the mean of these errors: -10 log10(sum / nodes)
  std::optional<std::uint64_t> max_bytes{};     ///< of all nodes
  std::optional<double> max_bits_per_weight{};  ///< 8 bytes / weights, of all nodes
  std::optional<double> min_speedup{};          ///< against float, of the sum of seconds
};

/// The scheme of a node, and why.
struct SelectedPrecision {
  std::string name;
  std::uint64_t weights = 0;
  PrecisionCandidate choice;
  /// 1 - c / c2, where c = error + price * bytes is what the choice costs and c2 what the second
  /// best candidate does, at the error that a byte is worth at this budget
  /// (`SelectionResult::price`): 0 where another is as good, 1 where none comes near or there is no
  /// other. Divided by 1 + gap where the selection is not proven optimal.
  double confidence = 0;
  std::string reason;
};

/// A scheme for every node of a model.
struct PrecisionSelection {
  std::vector<SelectedPrecision> nodes;
  SelectionCost cost;         ///< of all
  std::uint64_t weights = 0;  ///< of all
  double speedup = 1;         ///< seconds of float / seconds; 1 where not measured
  SelectionGraph graph = SelectionGraph::none;
  double bound = 0, gap = 0;  ///< as in `SelectionResult`
  bool optimal = false;

  [[nodiscard]] TQ_API double bits_per_weight() const noexcept;
  /// The mean error of the nodes, as SQNR in dB.
  [[nodiscard]] TQ_API double sqnr_db() const noexcept;
};

/// Selects schemes for one model by any number of criteria. More budget never gives more error: all
/// answers come from one frontier.
class PrecisionSelector {
 public:
  /// Throws: `errc::bad_argument` unless `float_scheme` is the first candidate of every node and no
  /// scheme is there twice; as `SelectionFrontier`.
  TQ_API explicit PrecisionSelector(PrecisionModel model,
                                    std::size_t max_states = SelectionFrontier::default_max_states);

  [[nodiscard]] const SelectionFrontier& frontier() const noexcept { return frontier_; }
  /// With the candidates that ties left.
  [[nodiscard]] const PrecisionModel& model() const noexcept { return model_; }

  /// Throws: `errc::bad_argument` for limits that no selection keeps, in a text that names the
  /// least that can be reached; for limits that are no numbers; for `custom` without limits; and
  /// for `min_speedup` where a time was not measured.
  [[nodiscard]] TQ_API PrecisionSelection select(const PrecisionCriteria& criteria) const;

  /// The same scheme for every node, `float_scheme` where a node cannot have it. Without bound.
  [[nodiscard]] TQ_API PrecisionSelection uniform(std::string_view scheme) const;

  /// Candidates by their numbers, one for each node. Without bound. Throws: `errc::shape_mismatch`
  /// for another number of them; `errc::bad_argument` for a number that a node does not have, and
  /// where tied nodes differ.
  [[nodiscard]] TQ_API PrecisionSelection chosen(std::vector<std::size_t> candidates) const;

 private:
  [[nodiscard]] TQ_API SelectionLimits limits_of(const PrecisionCriteria& criteria) const;
  [[nodiscard]] TQ_API SelectionResult result_of(const PrecisionCriteria& criteria) const;
  [[nodiscard]] TQ_API PrecisionSelection selection(const SelectionResult& result) const;
  [[nodiscard]] TQ_API SelectedPrecision selected(const PrecisionNode& node, std::size_t choice,
                                                  const SelectionResult& result) const;

  PrecisionModel model_;
  SelectionFrontier frontier_;
  std::uint64_t weights_ = 0;
  double float_seconds_ = 0;
  bool has_seconds_ = true;
};

namespace detail {

// The most bytes that are at most so many bits per weight. Precondition: bits above 0.
[[nodiscard]] TQ_API std::uint64_t bytes_within(double bits, std::uint64_t weights);

// Why a candidate was chosen, in numbers.
[[nodiscard]] TQ_API std::string reason_text(const PrecisionNode& node,
                                             const PrecisionCandidate& choice);

}  // namespace detail

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/select/precision_selector.ipp>
#endif
