// SPDX-License-Identifier: MIT
#pragma once
// Quantizer: observes the nodes of a model, makes their parameters and quantizes them, as a
// configuration says.

#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/model/any_observer.hpp>
#include <tq/model/detail/fake_quantize_node.hpp>
#include <tq/model/detail/model_node.hpp>
#include <tq/model/node_decider.hpp>
#include <tq/model/quant_config.hpp>
#include <tq/model/quant_node.hpp>
#include <tq/model/summary.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/encoded_tensor.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tq {

/// Quantizes a model node by node:
///
///     tq::Quantizer quantizer(tq::QuantConfig::int8().per_tensor().asymmetric());
///     quantizer.add({"relu1", tq::NodeKind::activation});
///     for (...) quantizer.observe("relu1", x);   // from any thread
///     quantizer.finalize();
///     tq::EncodedTensor codes = quantizer.quantize("relu1", x);
///
/// Only the types in `Types` and `ScaleTypes` are instantiated; a configuration with another is
/// refused. `observe`, `quantize` and the functions that look do no harm to one another on several
/// threads; `add`, `finalize` and `merge` are for one.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend>
class Quantizer {
 public:
  /// Throws: as `validate` of the configuration; `errc::unsupported` for algorithms other than rtn,
  /// which `convert_model` has.
  explicit Quantizer(QuantConfig config) : decider_(std::move(config)) {
    validate<Types, ScaleTypes>(this->config());
    if (has_algorithms(this->config()))
      raise(errc::unsupported,
            "tq::Quantizer: expected no algorithm but rtn, got another: tq::convert_model has it");
  }
  /// One that continues from what `state` gave. Throws: as above and as `add`; `errc::bad_argument`
  /// where an observer is not the one of the configuration.
  Quantizer(QuantConfig config, std::vector<NodeState> states) : Quantizer(std::move(config)) {
    for (NodeState& state : states) {
      Node& node = append_node(std::move(state.node));
      node.require_alike("Quantizer", state.observer);
      node.replace(std::move(state.observer));
    }
  }

  /// A node, and what the configuration decides on it.
  /// Throws: `errc::bad_argument` for a name that is there already; as `decide`.
  const NodeDecision& add(QuantNode node) { return append_node(std::move(node)).decision(); }

  /// Adds a tensor of a node, of real numbers of any type, which count as float32, in time for
  /// `finalize`. Nodes that are left as they are, and
  /// those of mode dynamic, only remember the size. The result does not depend on the order of the
  /// calls, but for the observer moving_average. Throws: `errc::unknown_name`; `errc::bad_axis`,
  /// `errc::bad_group_size` in every mode for a shape that the scheme of the node does not fit; as
  /// `Observer::observe`. Nothing has changed then.
  template <Readable X = ConstTensorView>
  void observe(const std::string& name, const X& x) {
    at("observe", name).observe(detail::read_floats("tq::Quantizer::observe", x).view());
  }

  /// The nodes that saw fewer tensors than the configuration wants, in the order of `add`.
  [[nodiscard]] std::vector<Shortfall> shortfalls() const {
    std::vector<Shortfall> list;
    for (const auto& node : nodes_)
      if (node->lacks_samples())
        list.push_back({node->node().name, node->samples(), node->decision().minimum_samples});
    return list;
  }

  /// Makes the parameters of every node that is observed, and keeps them until the next call.
  /// Throws: `errc::no_data` with all nodes that saw too little, and how much, or for which no
  /// parameters can be made. Nothing is changed then.
  void finalize();

  /// The parameters of a node: an encoded tensor without codes, whose shape is of no meaning.
  /// Throws: `errc::unknown_name`; `errc::no_data` where there are none (yet); `errc::bad_argument`
  /// for a node that is left as it is.
  [[nodiscard]] const EncodedTensor& params(const std::string& name) const {
    const Node& node = at("params", name);
    if (!node.params()) node.refuse_without_params("params");
    return *node.params();
  }

  /// The codes of a tensor: by the parameters of the node, or in mode dynamic, and of a node that
  /// needs no samples and saw none, by those of the tensor. What is lost goes into the summary.
  /// Throws: `errc::unknown_name`; `errc::bad_argument` for a node that is left as it is;
  /// `errc::no_data` before `finalize`; `errc::not_finite`; as `encode` where the shape does not
  /// fit.
  template <Readable X = ConstTensorView>
  [[nodiscard]] EncodedTensor quantize(const std::string& name, const X& x) {
    const auto in = detail::read_floats("tq::Quantizer::quantize", x);
    std::vector<float> back(in.view().size());
    return at("quantize", name).encode("quantize", in.view(), back);
  }

  /// The fake quantization of a node in training.
  /// Throws: `errc::unknown_name`; `errc::bad_argument` in another mode than qat.
  [[nodiscard]] FakeQuantizeNode<Types, ScaleTypes, B> fake_quantize(const std::string& name) {
    Node& node = at("fake_quantize", name);
    if (config().mode != QuantMode::qat)
      detail::raise_expected(errc::bad_argument, "tq::Quantizer::fake_quantize", {"mode qat"},
                             {to_string(config().mode)});
    return FakeQuantizeNode<Types, ScaleTypes, B>(node);
  }

  /// Summary of the nodes so far.
  [[nodiscard]] QuantizationSummary summary() const {
    QuantizationSummary out;
    for (const auto& node : nodes_) out.nodes.push_back(node->summary());
    return out;
  }

  /// The nodes and what they have seen, without parameters: `finalize` makes those again.
  [[nodiscard]] std::vector<NodeState> state() const {
    std::vector<NodeState> list;
    for (const auto& node : nodes_) list.push_back(node->state());
    return list;
  }

  /// Takes what another quantizer of the same configuration saw, as if it had come after everything
  /// here; nodes that are new are added. Parameters are made anew by `finalize`.
  /// Throws: `errc::bad_argument` where configurations or observers differ. Nothing is taken then.
  void merge(const Quantizer& other);

  [[nodiscard]] const QuantConfig& config() const noexcept { return decider_.config(); }
  /// The decision of the configuration on a node. Throws: `errc::unknown_name`.
  [[nodiscard]] const NodeDecision& decision(const std::string& name) const {
    return at("decision", name).decision();
  }

 private:
  using Node = detail::ModelNode<Types, ScaleTypes, B>;

  [[nodiscard]] Node* find(const std::string& name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : nodes_[found->second].get();
  }
  [[nodiscard]] Node& at(const char* function, const std::string& name) const {
    if (Node* node = find(name)) return *node;
    std::vector<std::string> names;
    for (const auto& node : nodes_) names.push_back(node->node().name);
    detail::raise_text(errc::unknown_name,
                       {"tq::Quantizer::", function, ": expected one of ", names.size(),
                        " nodes, got ", detail::in_quotes(name), did_you_mean(name, names)});
  }
  Node& append_node(QuantNode added) {
    if (find(added.name) != nullptr)
      detail::raise_expected(errc::bad_argument, "tq::Quantizer::add", {"every node once"},
                             {detail::in_quotes(added.name), " twice"});
    NodeDecision decision = decider_(added.name, added.kind);
    nodes_.push_back(
        std::make_unique<Node>(added, std::move(decision), config().mode != QuantMode::dynamic_));
    index_.emplace(std::move(added.name), nodes_.size() - 1);
    return *nodes_.back();
  }

  NodeDecider decider_;
  std::vector<std::unique_ptr<Node>> nodes_;  // in the order of `add`
  std::unordered_map<std::string, std::size_t> index_;
};

template <class Types, class ScaleTypes, Backend B>
void Quantizer<Types, ScaleTypes, B>::finalize() {
  std::vector<std::optional<EncodedTensor>> made(nodes_.size());
  std::string missing;
  std::size_t count = 0;
  const auto miss = [&](const Node& node, const std::string& why) {
    missing.append(count++ == 0 ? "" : "; ").append(node.node().name).append(why);
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = *nodes_[i];
    if (node.lacks_samples())
      miss(node, " saw " + std::to_string(node.samples()) + " of " +
                     std::to_string(node.decision().minimum_samples) + " tensors");
    else if (node.samples() > 0)
#if TQ_HAS_EXCEPTIONS
      try {
        made[i] = node.calibrated();
      } catch (const error& e) {
        miss(node, std::string(": ") + e.what());
      }
#else
      made[i] = node.calibrated();
#endif
  }
  if (count != 0)
    detail::raise_expected(errc::no_data, "tq::Quantizer::finalize", {"enough data for every node"},
                           {"too little for ", count, " of ", nodes_.size(), ": ", missing});
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool is_final = made[i].has_value();
    nodes_[i]->set_params(std::move(made[i]), is_final);
  }
}

template <class Types, class ScaleTypes, Backend B>
void Quantizer<Types, ScaleTypes, B>::merge(const Quantizer& other) {
  if (!(config() == other.config()))
    raise(errc::bad_argument,
          "tq::Quantizer::merge: expected a quantizer of the same configuration, got another");
  std::vector<std::optional<AnyObserver>> merged;  // of the nodes of `other`
  for (const auto& theirs : other.nodes_) {
    const Node* own = find(theirs->node().name);
    merged.push_back(own == nullptr ? theirs->observer() : own->observer());
    if (own == nullptr) continue;
    own->require_alike("merge", theirs->observer());
    if (own->observer())
      detail::at_place("tq::Quantizer::merge: node \"" + own->node().name + "\"",
                       [&] { append(*merged.back(), *theirs->observer()); });
  }
  for (const auto& theirs : other.nodes_)
    if (find(theirs->node().name) == nullptr) append_node(theirs->node());
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const Node& theirs = *other.nodes_[i];
    Node& own = *find(theirs.node().name);
    own.replace(std::move(merged[i]));
    if (theirs.largest()) own.take_size(*theirs.largest());
  }
}

}  // namespace tq
