// SPDX-License-Identifier: MIT
#pragma once
// Observer: fans a tensor out over one accumulator per parameter slot.

#include <tq/core/detail/run.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/real_tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/observe/concepts.hpp>
#include <tq/observe/detail/slot_window.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/widened.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// NaN and infinities are skipped and counted.
struct SkipNonFinite {
  static constexpr bool raises = false;
};
/// NaN and infinities are an error, and the tensor they are in is not observed.
struct RaiseNonFinite {
  static constexpr bool raises = true;
};
/// What an observer does with NaN and infinities. Smallest model: `SkipNonFinite`.
template <class P>
concept NonFinitePolicy = requires {
  { P::raises } -> std::convertible_to<bool>;
};

namespace detail {
// Copies of a value for tasks, as many as are in use at the same time. What is changed is changed
// for the next task too.
template <class T>
class Copies {
 public:
  explicit Copies(T original) : original_(std::move(original)) {}
  [[nodiscard]] T take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        T copy = std::move(idle_.back());
        idle_.pop_back();
        return copy;
      }
    }
    return original_;
  }
  void give_back(T copy) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(copy));
  }
  // Precondition: all were given back.
  [[nodiscard]] const std::vector<T>& all() const noexcept { return idle_; }

 private:
  T original_;
  std::mutex mutex_;
  std::vector<T> idle_;
};

// What counts a share of the values that are next for `slot`, to be merged into it.
template <class A>
[[nodiscard]] A share_of(const A& slot, const A& prototype) {
  if constexpr (requires { slot.share(); }) return slot.share();
  else return prototype;
}
template <class A>
[[nodiscard]] TQ_NO_INLINE std::vector<A> shares_of(std::span<const A> accumulators,
                                                    const A& prototype) {
  std::vector<A> shares;
  for (const A& slot : accumulators) shares.push_back(share_of(slot, prototype));
  return shares;
}
}  // namespace detail

/// One accumulator per parameter of `Gran`. All tensors observed must have the same number of
/// slots.
template <Accumulator Acc, Granularity Gran = PerTensor, NonFinitePolicy NonFinite = SkipNonFinite>
class Observer {
 public:
  using accumulator_type = Acc;
  using granularity_type = Gran;

  /// `name` is that of the tensor, for messages.
  explicit Observer(Gran granularity = Gran{}, Acc prototype = Acc{}, std::string name = {})
      : granularity_(granularity), prototype_(std::move(prototype)), name_(std::move(name)) {}
  /// One that continues from stored slots, after `batches` calls of `observe`.
  Observer(Gran granularity, Acc prototype, std::string name, std::vector<Acc> accumulators,
           std::uint64_t batches)
      : granularity_(granularity),
        prototype_(std::move(prototype)),
        name_(std::move(name)),
        slots_(std::move(accumulators)),
        batches_(batches) {}

  /// Adds the elements of `x`, as a batch of the next number. An empty tensor is an empty batch.
  /// The slots are those of the values as float32, bit for bit, and do not depend on the executor.
  /// Throws: `errc::bad_axis`, `errc::bad_group_size`
  /// when the granularity does not fit; `errc::shape_mismatch` when earlier tensors had another
  /// number of slots; `errc::not_finite` under `RaiseNonFinite`.
  template <Backend B = default_backend, Executor E = Serial, TensorSource X = ConstTensorView>
  void observe(const X& x, const E& executor = serial) {
    take<B>(detail::view_of(x), executor);
  }

  /// Starts a batch that comes in parts: a dense tensor of `shape`, of which `add_part` adds every
  /// element once. Throws: as `observe`.
  void begin(const Shape& shape) {
    const std::size_t n = slots_for(shape);
    if (shape.size() != 0) {
      if (slots_.empty()) slots_.resize(n, prototype_);
      if constexpr (numbers_batches) {
        prototype_.begin_batch(batches_);
        for (Acc& slot : slots_) slot.begin_batch(batches_);
      }
    }
    ++batches_;
  }

  /// Adds the elements of the batch's tensor from number `first` on, row-major.
  /// Precondition: `shape` is that of `begin`, and has them.
  template <Backend B = default_backend>
  void add_part(const Shape& shape, std::size_t first,
                std::span<const float> x) requires(!NonFinite::raises) {
    take_part<B>(shape, first, x);
  }
  template <Backend B = default_backend, Real T>
  void add_part(const Shape& shape, std::size_t first,
                std::span<const T> x) requires(!NonFinite::raises && !std::same_as<T, float>) {
    take_part<B>(shape, first, x);
  }

  /// The number that the next call of `observe` gives its batch: for accumulators whose result
  /// depends on the order. Shards of a stream set it to the batch's place in the whole stream.
  void set_next_batch(std::uint64_t index) noexcept { batches_ = index; }
  /// Batches observed, or the number of the next one.
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }

  /// Takes what another observer of the same granularity saw.
  /// Throws: `errc::bad_argument` when the granularities differ; `errc::shape_mismatch` when the
  /// numbers of slots do (and neither is empty); what the accumulators' `merge` throws.
  void merge(const Observer& other) {
    if constexpr (std::equality_comparable<Gran>)
      if (!(granularity_ == other.granularity_))
        raise(errc::bad_argument, where("merge") + ": expected an observer of the same " +
                                      std::string(Gran::name) +
                                      ", got one of another axis or size");
    batches_ = std::max(batches_, other.batches_);
    if (other.slots_.empty()) return;
    if (slots_.empty()) slots_.resize(other.slots_.size(), prototype_);
    if (slots_.size() != other.slots_.size())
      raise(errc::shape_mismatch, where("merge") + ": expected " + std::to_string(slots_.size()) +
                                      " slots, got " + std::to_string(other.slots_.size()));
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].merge(other.slots_[i]);
  }

  /// Forgets everything seen.
  void reset() noexcept {
    slots_.clear();
    batches_ = 0;
  }

  /// One per parameter, in the order of the parameters; none before the first element.
  [[nodiscard]] std::span<const Acc> accumulators() const noexcept { return slots_; }
  [[nodiscard]] const Gran& granularity() const noexcept { return granularity_; }
  /// What every slot starts as.
  [[nodiscard]] const Acc& prototype() const noexcept { return prototype_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  static constexpr bool numbers_batches = requires(Acc & a) { a.begin_batch(std::uint64_t{}); };

  [[nodiscard]] std::string where(const char* function) const {
    return std::string("tq::Observer::") + function +
           (name_.empty() ? "" : ": tensor '" + name_ + "'");
  }

  // The number of slots for `shape`, which fits the granularity and the batches before.
  [[nodiscard]] std::size_t slots_for(const Shape& shape) const {
    if (granularity_.check(shape) != errc::ok)
      detail::require_possible(where("observe"), granularity_, shape);
    const std::size_t n = param_count(granularity_, shape);
    if (shape.size() != 0 && !slots_.empty() && slots_.size() != n)
      raise(errc::shape_mismatch, where("observe") + ": expected a tensor with " +
                                      std::to_string(slots_.size()) + " slots as before, got " +
                                      std::to_string(n) + " (" + std::string(Gran::name) +
                                      " over shape " + to_string(shape) + ")");
    return n;
  }

  template <Backend B, Real T, Executor E>
  void take(const TensorView<const T>& x, const E& executor) {
    if constexpr (NonFinite::raises) {
      static_cast<void>(slots_for(x.shape()));
      require_finite<B>(x);
    }
    begin(x.shape());
    if (x.size() != 0) add<B>(x, executor);
  }

  template <Backend B, Real T>
  void take_part(const Shape& shape, std::size_t first, std::span<const T> x) {
    detail::SlotWindow<B, Acc, T>(slots_, 0).add_part(shape, granularity_.block(shape), first, x);
  }

  template <Backend B, Real T>
  void require_finite(const TensorView<const T>& x) const {
    kernels::Extremes e;
    detail::Widened<B, T> widened;
    for_each_run(
        x.shape(), PerTensor::block(x.shape()), x.strides(), x.strides(), [&](const Run& r) {
          widened.each_row(x.data() + r.source, r.length, r.count, r.source_stride,
                           [&](std::size_t, std::size_t, std::span<const float> row) {
                             const kernels::Extremes part = B::min_max::run(row.data(), row.size());
                             e.nan += part.nan;
                             e.infinite += part.infinite;
                           });
        });
    if (e.nan + e.infinite != 0)
      raise(errc::not_finite, where("observe") + ": expected finite values, got " +
                                  std::to_string(e.nan) + " NaN and " + std::to_string(e.infinite) +
                                  " infinite among " + std::to_string(x.shape().size()));
  }

  template <Backend B, Real T, Executor E>
  void add(const TensorView<const T>& x, const E& executor) {
    const Shape& shape = x.shape();
    const Shape block = granularity_.block(shape);
    const std::size_t n = slots_.size(), threads = executor.concurrency();
    const std::span<Acc> all(slots_);
    const bool whole = detail::is_one_task(executor, shape.size());
    if (whole || n < 4 * threads) {
      // None where the only task adds to the slots.
      detail::Copies parts(whole ? std::vector<Acc>{} : detail::shares_of<Acc>(slots_, prototype_));
      detail::for_each_task(executor, shape, block, x.strides(), x.strides(), [&](auto&& each) {
        std::vector<Acc> part = parts.take();
        detail::SlotWindow<B, Acc, T> window(whole ? all : std::span<Acc>(part), 0);
        window.add_all(x.data(), each);
        parts.give_back(std::move(part));
      });
      for (const std::vector<Acc>& part : parts.all())
        for (std::size_t i = 0; i < part.size(); ++i) slots_[i].merge(part[i]);
      return;
    }
    // Slots enough for everyone: each task has some of them for itself.
    const std::size_t tasks = std::min(n, 4 * threads);
    executor(tasks, [&](std::size_t t) {
      const std::size_t first = n * t / tasks, last = n * (t + 1) / tasks;
      detail::SlotWindow<B, Acc, T> window(all.subspan(first, last - first), first);
      window.add_all(x.data(),
                     [&](auto&& f) { for_each_run(shape, block, x.strides(), x.strides(), f); });
    });
  }

  [[no_unique_address]] Gran granularity_;
  Acc prototype_;
  std::string name_;
  std::vector<Acc> slots_;
  std::uint64_t batches_ = 0;
};

}  // namespace tq
