// SPDX-License-Identifier: MIT
#pragma once
// QuantConfig: how the nodes of a model are quantized, and which are not.

#include <tq/bodies.hpp>
#include <tq/error.hpp>
#include <tq/model/node_decision.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/model/node_rule.hpp>
#include <tq/model/node_selector.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/weight_algorithm.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

/// When the parameters of a node are chosen.
enum class QuantMode : std::uint8_t {
  static_,   ///< once, from what was observed
  dynamic_,  ///< from every tensor anew
  qat,       ///< while a network is trained with fake quantization
};

/// The name of a mode: "static", "dynamic" or "qat".
[[nodiscard]] constexpr std::string_view to_string(QuantMode mode) noexcept {
  constexpr std::array<std::string_view, 3> names{"static", "dynamic", "qat"};
  return names[static_cast<std::size_t>(mode)];
}

/// How the nodes of a model are quantized: a scheme for all, how ranges are found, which nodes are
/// left alone, and what some have of their own. `QuantConfig::int8().per_channel(0).asymmetric()`:
/// each of these functions gives a changed copy.
///
/// A rule with the very name of a node comes first, then `skip`, then rules with patterns, then
/// rules with kinds, then the fields here, where `float_kinds` comes before `scheme`. Of several
/// rules of a sort, the last that sets a field counts, field by field. A scheme replaces another
/// as a whole.
struct QuantConfig {
  QuantSpec scheme{};
  QuantMode mode = QuantMode::static_;
  /// Names as in `observer_kinds` and `calibrator_kinds`; where one is empty it suits the other,
  /// and where both are, the scheme.
  std::string observer{}, calibrator{};
  /// Tensors that each node must have seen before its parameters are made. A node that needs none
  /// and saw none gets the parameters of the tensor that is quantized.
  std::uint64_t minimum_samples = 100;
  /// Kinds that are left as they are unless a rule gives them a scheme.
  std::vector<NodeKind> float_kinds{default_float_kinds.begin(), default_float_kinds.end()};
  std::vector<NodeSelector> skip{};
  std::vector<NodeRule> nodes{};
  /// The algorithm of weights of a model on disk, in mode static.
  WeightAlgorithm algorithm{};

  // --- presets: the named scheme of that name ---
  [[nodiscard]] static QuantConfig int8() { return of("int8"); }
  [[nodiscard]] static QuantConfig int4() { return of("int4"); }
  /// E4M3 under one scale per tensor.
  [[nodiscard]] static QuantConfig fp8() { return of("fp8_e4m3"); }
  [[nodiscard]] static QuantConfig mxfp4() { return of("mxfp4"); }
  [[nodiscard]] static QuantConfig nvfp4() { return of("nvfp4"); }
  [[nodiscard]] static QuantConfig nf4() { return of("nf4"); }
  /// Training with fake quantization to that scheme. Throws: as `scheme_of`.
  [[nodiscard]] TQ_API static QuantConfig qat(std::string_view scheme = "int8");
  /// Throws: as `scheme_of`.
  [[nodiscard]] TQ_API static QuantConfig of(std::string_view scheme);

  // --- changed copies ---
  [[nodiscard]] QuantConfig per_tensor() const { return with_granularity(PerTensor::name); }
  /// Without an axis, along the outputs of a tensor.
  [[nodiscard]] TQ_API QuantConfig per_channel(std::optional<int> axis = {}) const;
  /// Without an axis, along the inputs of a tensor.
  [[nodiscard]] TQ_API QuantConfig per_group(int size, std::optional<int> axis = {}) const;
  [[nodiscard]] TQ_API QuantConfig symmetric() const;
  [[nodiscard]] TQ_API QuantConfig asymmetric() const;
  [[nodiscard]] TQ_API QuantConfig with_mode(QuantMode value) const;
  /// By that calibrator, from what that observer saw; empty: the one that suits it.
  [[nodiscard]] TQ_API QuantConfig with_calibration(std::string by, std::string from = {}) const;
  [[nodiscard]] TQ_API QuantConfig with_minimum_samples(std::uint64_t count) const;
  [[nodiscard]] TQ_API QuantConfig with_float_kinds(std::vector<NodeKind> kinds) const;
  [[nodiscard]] TQ_API QuantConfig skip_name(std::string name) const;
  /// Throws: as `NamePattern`.
  [[nodiscard]] TQ_API QuantConfig skip_pattern(std::string pattern) const;
  [[nodiscard]] TQ_API QuantConfig skip_kind(NodeKind kind) const;
  [[nodiscard]] TQ_API QuantConfig with_algorithm(WeightAlgorithm value) const;
  [[nodiscard]] TQ_API QuantConfig with_rule(NodeRule rule) const;
  [[nodiscard]] TQ_API QuantConfig with_scheme(NodeSelector which, QuantSpec spec) const;

  friend bool operator==(const QuantConfig&, const QuantConfig&) = default;

 private:
  template <class F>
  [[nodiscard]] QuantConfig changed(F&& f) const {
    QuantConfig copy = *this;
    f(copy);
    return copy;
  }
  [[nodiscard]] TQ_API QuantConfig with_granularity(std::string_view name) const;
};

namespace detail {

// "skip[1]".
[[nodiscard]] TQ_API std::string place_in(std::string_view list, std::size_t index);

// "nodes[2]: name lm_head (measured)".
[[nodiscard]] TQ_API std::string decided_by(std::string_view list, std::size_t index,
                                            const NodeSelector& which,
                                            std::string_view reason = {});

// Puts what a rule says in the place of what was said before.
TQ_API void apply_rule(const NodeRule& rule, std::size_t index, NodeDecision& decision);

// Puts names in the place of those that suit. Throws: as `choose_observer` and
// `require_calibrates`.
TQ_API void complete_observer(NodeDecision& decision);

// Calls f(); an error that leaves it gets its place in front.
template <class F>
void at_place(const std::string& place, F&& f) {
#if TQ_HAS_EXCEPTIONS
  try {
    f();
  } catch (const error& e) {
    raise_text(e.code(), {place, ": ", e.what()});
  }
#else
  static_cast<void>(place);
  f();
#endif
}

// Throws where ranges cannot be found in that way for that scheme; `by` is the place of what says
// how.
TQ_API void require_calibration(const std::string& by, const std::string& scheme,
                                const QuantConfig& config, NodeDecision decision);

// The sort of a selector, in the order in which rules apply.
enum class SelectorSort : std::uint8_t { kind, pattern, name };

[[nodiscard]] TQ_API SelectorSort sort_of(const NodeSelector& which) noexcept;

// The decision of `config` on a node. `each_rule(sort, f)` calls f with the numbers of the rules of
// a sort that may match, `each_skip(f)` with those of the entries of `skip`, in ascending order.
template <class EachRule, class EachSkip>
[[nodiscard]] NodeDecision decide_by(const QuantConfig& config, const std::string& name,
                                     NodeKind kind, const EachRule& each_rule,
                                     const EachSkip& each_skip) {
  NodeDecision decision{config.scheme,          config.observer, config.calibrator,
                        config.minimum_samples, "default",       config.algorithm};
  if (std::find(config.float_kinds.begin(), config.float_kinds.end(), kind) !=
      config.float_kinds.end()) {
    decision.scheme.reset();
    decision.decided_by = "float_kinds: kind " + std::string(to_string(kind));
  }
  const auto apply = [&](std::size_t i) {
    if (config.nodes[i].which.matches(name, kind)) apply_rule(config.nodes[i], i, decision);
  };
  each_rule(SelectorSort::kind, apply);
  each_rule(SelectorSort::pattern, apply);
  each_skip([&](std::size_t i) {
    if (!config.skip[i].matches(name, kind)) return;
    decision.scheme.reset();
    decision.decided_by = decided_by("skip", i, config.skip[i]);
  });
  each_rule(SelectorSort::name, apply);
  complete_observer(decision);
  return decision;
}

}  // namespace detail

/// The decision of `config` on the node of that name and kind. It looks at every rule:
/// `NodeDecider` is for many nodes.
/// Throws: as `choose_observer` and `require_calibrates` for names that do not go together; as
/// `NamePattern::matches`.
[[nodiscard]] TQ_API NodeDecision decide(const QuantConfig& config, const std::string& name,
                                         NodeKind kind);

namespace detail {

// Throws for an algorithm that does not exist, or that a mode does not have.
TQ_API void require_algorithm(const std::string& place, QuantMode mode,
                              const WeightAlgorithm& algorithm);

}  // namespace detail

/// True where `config` asks for an algorithm other than rounding to nearest.
[[nodiscard]] TQ_API bool has_algorithms(const QuantConfig& config);

namespace detail {

// `validate_spec`: `validate_encoding` of the types of a program.
TQ_API void validate_config(const QuantConfig& config, std::string_view path,
                            void (*validate_spec)(const QuantSpec&));

}  // namespace detail

/// Checks what can be checked without a model: schemes, and whether observer, calibrator and mode
/// go together. `path` names the configuration in messages, which say where in it the fault is.
/// Throws: as `validate_encoding`; `errc::unknown_name`; `errc::bad_argument`.
template <class Types = all_elements, class ScaleTypes = all_scales>
void validate(const QuantConfig& config, std::string_view path = "config") {
  detail::validate_config(config, path, &validate_encoding<Types, ScaleTypes>);
}

/// Checks that every name and every pattern of `config` matches one of these names. Kinds need not.
/// Throws: `errc::bad_argument`, with the place in the configuration and the closest name.
TQ_API void require_matches(const QuantConfig& config, const std::vector<std::string>& names,
                            std::string_view path = "config");

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/quant_config.ipp>
#endif
