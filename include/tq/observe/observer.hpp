// SPDX-License-Identifier: MIT
#pragma once
// Observer: fans a tensor out over one accumulator per parameter slot.

#include <tq/bodies.hpp>
#include <tq/core/detail/flat_range.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/detail/row_major.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/observe/concepts.hpp>
#include <tq/observe/detail/slot_store.hpp>
#include <tq/observe/detail/slot_window.hpp>
#include <tq/observe/detail/slots_undo.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/detail/widened.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
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
/// The treatment of NaN and infinities by an observer. Smallest model: `SkipNonFinite`.
template <class P>
concept NonFinitePolicy = requires {
  { P::raises } -> std::convertible_to<bool>;
};

namespace detail {
// "tq::Observer::observe: tensor 'x'".
[[nodiscard]] TQ_CORE_API std::string where_of(const char* function, const std::string& name);
// The texts of what an observer of this name throws.
[[noreturn]] TQ_CORE_API void refuse_batch(const std::string& name, std::uint64_t last);
[[noreturn]] TQ_CORE_API void refuse_slots(const std::string& name, std::size_t before,
                                           std::size_t now, std::string_view granularity,
                                           const Shape& shape);

// Copies of a value for tasks, as many as are in use at the same time. A task passes its changes
// on to the next task that takes its copy.
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
  // Precondition: all copies were given back.
  [[nodiscard]] const std::vector<T>& all() const noexcept { return idle_; }

 private:
  T original_;
  std::mutex mutex_;
  std::vector<T> idle_;
};

// An accumulator for a share of the next values of `slot`, to be merged into it.
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
        next_{batches} {}
  /// The same, from slots that stay packed until they are added to or asked for.
  template <std::same_as<detail::SlotStore<Acc>> Slots>
  Observer(Gran granularity, Acc prototype, std::string name, Slots states, std::uint64_t batches)
      : granularity_(granularity),
        prototype_(std::move(prototype)),
        name_(std::move(name)),
        slots_(std::move(states)),
        next_{batches} {}

  /// Adds the elements of `x`, as a batch of the next number. An empty tensor is an empty batch.
  /// Options: an executor, a backend. The slots are those of the values as float32, bit for bit,
  /// and do not depend on the executor. Throws: `errc::bad_axis`, `errc::bad_group_size` when the
  /// granularity does not fit; `errc::shape_mismatch` when earlier tensors had another number of
  /// slots; `errc::bad_argument` for extents that memory cannot hold and for a batch after number
  /// 2^64 - 1; `errc::not_finite` under `RaiseNonFinite`; what the accumulators and the executor
  /// throw. The observer is as it was before then.
  template <Readable X = ConstTensorView, class... O, Backend B = detail::backend_among<O...>>
  void observe(const X& x, const O&... options) {
    using enum detail::OptionKind;
    detail::require_axes<X, Gran>();
    const auto chosen = detail::choose<executor, backend>(options...);
    take<B>(detail::read(x).view(), chosen.executor());
  }
  template <Backend B, class... Args>
  [[deprecated("tq::Observer::observe: pass tq::on<B> as an option")]] void observe(
      const Args&... args) {
    observe(args..., on<B>);
  }

  /// Starts a batch that comes in parts: a dense tensor of `shape`, of which `add_part` adds every
  /// element once. Throws: as `observe`.
  void begin(const Shape& shape);

  /// Adds the elements of `x`, row-major, as those of the batch's tensor from number `first` on.
  /// Throws: `errc::shape_mismatch` unless `shape` has them; `errc::bad_argument` for extents that
  /// memory cannot hold; what the accumulators throw. The observer is as it was before then.
  /// Precondition: `shape` is that of `begin`. Options: a backend.
  template <Readable X = ConstTensorView, class... O, Backend B = detail::backend_among<O...>>
  void add_part(const Shape& shape, std::size_t first, const X& x, const O&... options)
    requires(!NonFinite::raises)
  {
    static_cast<void>(detail::choose<detail::OptionKind::backend>(options...));
    const auto in = detail::read(x);
    static_cast<void>(detail::require_extents("tq::Observer::add_part", in.view().shape()));
    const detail::RowMajor<real_of<X>> elements(in.view());
    take_part<B>(shape, first, elements.span());
  }

  /// The number that the next call of `observe` gives its batch: for accumulators whose result
  /// depends on the order. Shards of a stream set it to the batch's place in the whole stream.
  void set_next_batch(std::uint64_t index) noexcept { next_ = {index}; }
  /// Batches observed, or the number of the next one; at most 2^64 - 1.
  [[nodiscard]] std::uint64_t batches() const noexcept { return next_.number; }

  /// Takes what another observer of the same granularity saw.
  /// Throws: `errc::bad_argument` when the granularities differ; `errc::shape_mismatch` when the
  /// numbers of slots do (and neither is empty); what the accumulators' `merge` throws. The
  /// observer is as it was before then.
  void merge(const Observer& other);

  /// Forgets everything seen.
  void reset() noexcept {
    slots_.clear();
    next_ = {};
  }

  /// One per parameter, in the order of the parameters; none before the first element.
  [[nodiscard]] std::span<const Acc> accumulators() const {
    const std::vector<Acc>& all = slots_.view();
    return {all.data(), all.size()};
  }
  /// How many there are.
  [[nodiscard]] std::size_t slot_count() const { return slots_.size(); }
  /// Calls f(number, accumulator) for each of them in order. Histograms of a stored state stay
  /// packed, in memory of the size of their content.
  template <class F>
  void for_each_slot(F&& f) const {
    slots_.for_each(f);
  }
  [[nodiscard]] const Gran& granularity() const noexcept { return granularity_; }
  /// The initial state of every slot.
  [[nodiscard]] const Acc& prototype() const { return prototype_.get(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  static constexpr bool numbers_batches = requires(Acc& a) { a.begin_batch(std::uint64_t{}); };

  [[nodiscard]] std::string where(const char* function) const {
    return detail::where_of(function, name_);
  }

  void take_batches(const Observer& other) noexcept {
    if (next_.number <= other.next_.number)
      next_ = {other.next_.number, next_.is_used || other.next_.is_used};
  }
  // Merges slot by slot, so that few are unpacked at a time. Both have as many slots, or this none.
  void merge_packed(const Observer& other);

  // The number of slots for `shape`, which fits the granularity and the batches before.
  [[nodiscard]] std::size_t slots_for(const Shape& shape) const;

  template <Backend B, Real T, Executor E>
  void take(const TensorView<const T>& x, const E& executor);

  template <Backend B, Real T>
  void take_part(const Shape& shape, std::size_t first, std::span<const T> x);

  template <Backend B, Real T>
  void require_finite(const TensorView<const T>& x) const;

  template <Backend B, Real T, Executor E>
  void add(const TensorView<const T>& x, const E& executor, detail::SlotsUndo<Acc>& undo);

  // Tasks have slots of their own, which are merged at the end.
  template <Backend B, Real T, Executor E>
  void add_shares(const TensorView<const T>& x, const Shape& block, const E& executor);

  [[no_unique_address]] Gran granularity_;
  detail::SlotPrototype<Acc> prototype_;
  std::string name_;
  detail::SlotStore<Acc> slots_;
  detail::NextBatch next_;
};

}  // namespace tq

#include <tq/observe/detail/observer_bodies.hpp>
