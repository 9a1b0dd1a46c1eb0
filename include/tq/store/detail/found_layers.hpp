// SPDX-License-Identifier: MIT
#pragma once
// FoundLayers: the layers of a model, found once for all formats that ask for them alike.

#include <tq/checkpoints/model_layers.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/model_contents.hpp>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace tq::store::detail {

class FoundLayers {
 public:
  // The layers that `io::find_model_layers` finds. Any thread. Precondition: all calls have the same
  // model and configuration.
  [[nodiscard]] io::ModelLayers find(const ModelContents& model, const io::Json& config,
                                     bool experts_whole, bool head) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = found_.try_emplace({experts_whole, head});
    if (is_new) {
      std::vector<io::TensorInfo> tensors;
      for (const StoredTensor& t : model.tensors()) tensors.push_back({t.name, t.dtype, t.shape});
      found->second = io::find_model_layers(config, tensors, experts_whole, head);
    }
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<bool, bool>, io::ModelLayers> found_;
};

}  // namespace tq::store::detail
