// SPDX-License-Identifier: MIT
#pragma once
// TrainingSwitches: the mode of a layer, and what its calls do in training.

#include <tq/config.hpp>

#include <cstdint>

namespace tq {

/// A new layer is in training; `eval()` puts it into evaluation, where no call changes a parameter.
/// Three switches hold in training, all on at first: `observe` (forward calls observe their input
/// and calibrate the parameters again), `quantize` (forward calls quantize; without, they and
/// backward pass everything through) and `learn` (backward computes the gradients of learned
/// parameters, and `update` moves them). With a delay, the first calls of forward observe only.
class TrainingSwitches {
 public:
  /// Forward calls observe, and `update` moves what is learned.
  void train() noexcept { trains_ = true; }
  /// Forward calls quantize by the parameters there are, and change nothing of the layer. The mode
  /// is not stored: a restored layer keeps its own.
  void eval() noexcept { trains_ = false; }
  [[nodiscard]] bool is_training() const noexcept { return trains_; }
  void observe(bool on) noexcept { observes_ = on; }
  void quantize(bool on) noexcept { quantizes_ = on; }
  void learn(bool on) noexcept { learns_ = on; }
  [[nodiscard]] bool observes() const noexcept { return observes_; }
  [[nodiscard]] bool quantizes() const noexcept { return quantizes_; }
  /// The first `batches` calls of forward observe only; calls so far count.
  void delay(std::uint64_t batches) noexcept { delay_ = batches; }
  [[nodiscard]] std::uint64_t delay() const noexcept { return delay_; }
  /// Calls of the observing forward so far.
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }
  /// Parameters stay as they are from here on.
  void freeze() noexcept { observes_ = learns_ = false; }

 protected:
  TrainingSwitches() = default;
  TrainingSwitches(const TrainingSwitches&) = default;
  TrainingSwitches& operator=(const TrainingSwitches&) = default;
  ~TrainingSwitches() = default;

  [[nodiscard]] bool active() const noexcept { return quantizes_ && batches_ >= delay_; }
  // True if the last forward call of this mode left its input as it is.
  [[nodiscard]] bool passed_through() const noexcept {
    return trains_ ? !quantizes_ || (batches_ != 0 && batches_ <= delay_) : !active();
  }

  bool trains_ = true, observes_ = true, quantizes_ = true, learns_ = true;
  std::uint64_t delay_ = 0, batches_ = 0;
};

}  // namespace tq
