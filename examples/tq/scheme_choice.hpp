// SPDX-License-Identifier: MIT
#pragma once
// Which scheme a tensor gets: that of the options, or what a configuration decides.

#include "commands.hpp"
#include "stored_model.hpp"

#include <tq/scheme/quant_spec.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tq {
class NodeDecider;
}

namespace tool {

class SchemeChoice {
 public:
  // Throws: tq::error, with the place in the configuration that is at fault, be it a name or a
  // pattern that no tensor of the model has.
  SchemeChoice(const QuantizeOptions& options, const StoredModel& model, const NameFilter& filter);
  SchemeChoice(const SchemeChoice&) = delete;
  SchemeChoice& operator=(const SchemeChoice&) = delete;
  ~SchemeChoice();

  struct Choice {
    tq::QuantSpec spec;
    std::string left_alone;  // why the tensor is copied, or empty
    std::string decided_by;  // what of the configuration, if there is one
    bool is_named = false;   // by a rule of the configuration: it is meant, whatever it is
  };
  [[nodiscard]] Choice of(const StoredTensor& tensor) const;
  // Rules and exclusions of the configuration by kinds that no tensor is of, with their places.
  [[nodiscard]] const std::vector<std::string>& unused() const { return unused_; }

 private:
  [[nodiscard]] Choice decided(const StoredTensor& tensor) const;
  [[nodiscard]] bool is_asked_for(const StoredTensor& tensor) const;
  void find_unused(const StoredModel& model);

  const QuantizeOptions& options_;
  const NameFilter& filter_;
  std::vector<std::string> unused_;
  // The configuration, and the same with no kinds that stay in float; null without --config.
  std::unique_ptr<const tq::NodeDecider> decide_, decide_all_;
};

}  // namespace tool
