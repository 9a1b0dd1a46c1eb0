// SPDX-License-Identifier: MIT
#pragma once
// Which scheme a tensor gets: that of the options, or what a configuration decides.

#include "commands.hpp"
#include "stored_model.hpp"

#include <tq/scheme/quant_spec.hpp>

#include <memory>
#include <string>

namespace tq {
class NodeDecider;
}

namespace tool {

class SchemeChoice {
 public:
  // Throws: tq::error, with the place in the configuration that is at fault, be it a name or a
  // pattern that no tensor of the model has.
  SchemeChoice(const QuantizeOptions& options, const StoredModel& model);
  SchemeChoice(const SchemeChoice&) = delete;
  SchemeChoice& operator=(const SchemeChoice&) = delete;
  ~SchemeChoice();

  struct Choice {
    tq::QuantSpec spec;
    std::string left_alone;  // why the tensor is copied, or empty
    std::string decided_by;  // what of the configuration, if there is one
  };
  [[nodiscard]] Choice of(const StoredTensor& tensor) const;

 private:
  [[nodiscard]] Choice decided(const StoredTensor& tensor) const;

  const QuantizeOptions& options_;
  bool takes_all_kinds_;  // also those that stay in float unless they are asked for
  std::unique_ptr<const tq::NodeDecider> decide_;  // where there is a configuration
};

}  // namespace tool
