// SPDX-License-Identifier: MIT
#pragma once
// Observer: fans a tensor out over one accumulator per parameter slot.

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
  void begin(const Shape& shape) {
    const std::size_t n = slots_for(shape);
    if (next_.is_used)
      detail::raise_expected(errc::bad_argument, where("observe"),
                             {"batches of numbers below 2^64"},
                             {"another after number ", next_.number});
    if (shape.size() != 0) {
      std::vector<Acc>& states = slots_.open();
      if (states.empty()) states.resize(n, prototype_.get());
      if constexpr (numbers_batches) {
        prototype_.change().begin_batch(next_.number);
        for (Acc& slot : states) slot.begin_batch(next_.number);
      }
    }
    next_.count();
  }

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
  void merge(const Observer& other) {
    if constexpr (std::equality_comparable<Gran>)
      if (!(granularity_ == other.granularity_))
        detail::raise_expected(errc::bad_argument, where("merge"),
                               {"an observer of the same ", Gran::name},
                               {"one of another axis or size"});
    if (!slots_.empty() && !other.slots_.empty() && slots_.size() != other.slots_.size())
      detail::raise_expected(errc::shape_mismatch, where("merge"), {slots_.size(), " slots"},
                             {other.slots_.size()});
    if (slots_.empty() ? other.slots_.is_packed() : slots_.is_packed()) return merge_packed(other);
    std::vector<Acc>& states = slots_.open();
    detail::SlotsUndo<Acc> undo(states, next_);
    take_batches(other);
    if (states.empty()) states.resize(other.slots_.size(), prototype_.get());
    if constexpr (!noexcept(std::declval<Acc&>().merge(std::declval<const Acc&>())))
      undo.save_all();
    other.slots_.for_each([&](std::size_t i, const Acc& slot) { states[i].merge(slot); });
    undo.keep();
  }

  /// Forgets everything seen.
  void reset() noexcept {
    slots_.clear();
    next_ = {};
  }

  /// One per parameter, in the order of the parameters; none before the first element.
  [[nodiscard]] std::span<const Acc> accumulators() const { return slots_.view(); }
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
    return std::string("tq::Observer::") + function +
           (name_.empty() ? "" : ": tensor '" + name_ + "'");
  }

  void take_batches(const Observer& other) noexcept {
    if (next_.number <= other.next_.number)
      next_ = {other.next_.number, next_.is_used || other.next_.is_used};
  }
  // Merges slot by slot, so that few are unpacked at a time. Both have as many slots, or this none.
  void merge_packed(const Observer& other) {
    if constexpr (detail::packs_slots<Acc>) {
      detail::PackedSlots<Acc> merged;
      const auto own = std::make_unique<Acc>(prototype());
      if (slots_.empty()) {
        other.slots_.for_each([&](std::size_t, const Acc& slot) {
          *own = prototype();
          own->merge(slot);
          merged.push_back(*own);
        });
      } else if (other.slots_.empty()) {
        return take_batches(other);
      } else {
        slots_.for_each_beside(other.slots_, [&](const Acc& slot, const Acc& theirs) {
          *own = slot;
          own->merge(theirs);
          merged.push_back(*own);
        });
      }
      slots_ = detail::SlotStore<Acc>(std::move(merged));
      take_batches(other);
    }
  }

  // The number of slots for `shape`, which fits the granularity and the batches before.
  [[nodiscard]] std::size_t slots_for(const Shape& shape) const {
    if (granularity_.check(shape) != errc::ok || !detail::has_size(shape))
      detail::require_possible(where("observe"), granularity_, shape);
    const std::size_t n = param_count(granularity_, shape);
    if (shape.size() != 0 && !slots_.empty() && slots_.size() != n)
      detail::raise_expected(errc::shape_mismatch, where("observe"),
                             {"a tensor with ", slots_.size(), " slots as before"},
                             {n, " (", Gran::name, " over shape ", shape.extents(), ")"});
    return n;
  }

  template <Backend B, Real T, Executor E>
  void take(const TensorView<const T>& x, const E& executor) {
    if constexpr (NonFinite::raises) {
      static_cast<void>(slots_for(x.shape()));
      require_finite<B>(x);
    }
    if (slots_.is_packed()) static_cast<void>(slots_for(x.shape()));  // before memory is taken
    detail::SlotsUndo<Acc> undo(slots_.open(), next_);
    begin(x.shape());
    if (x.size() != 0) add<B>(x, executor, undo);
    undo.keep();
  }

  template <Backend B, Real T>
  void take_part(const Shape& shape, std::size_t first, std::span<const T> x) {
    if (!detail::has_size(shape) || detail::sum_or_most(first, x.size()) > shape.size())
      detail::raise_expected(errc::shape_mismatch, where("add_part"),
                             {"elements of a tensor of shape ", shape.extents()},
                             {x.size(), " from number ", first, " on"});
    std::vector<Acc>& states = slots_.open();
    detail::SlotsUndo<Acc> undo(states, next_);
    if (may_throw<B>(states)) undo.save_all();
    window_t<B, T> window(states, 0);
    window.make_room();
    window.add_part(shape, granularity_.block(shape), first, x);
    undo.keep();
  }

  // Whether to add to the slots may throw once the window has room.
  template <Backend B>
  [[nodiscard]] static bool may_throw(std::vector<Acc>& states) {
    constexpr bool takes_columns = requires(const float* x) {
      Acc::template add_columns<B>(std::span<Acc>{}, x, std::size_t{}, std::ptrdiff_t{});
    };  // which take memory
    if constexpr (detail::adds_quietly<B, Acc>) return takes_columns && states.size() > 1;
    else if constexpr (requires(Acc& a) { a.make_room(); })
      return !std::all_of(states.begin(), states.end(), [](Acc& slot) { return slot.make_room(); });
    else return states.size() != 0;
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
      detail::raise_expected(
          errc::not_finite, where("observe"), {"finite values"},
          {e.nan, " NaN and ", e.infinite, " infinite among ", x.shape().size()});
  }

  template <Backend B, Real T>
  using window_t = detail::SlotWindow<B, Acc, T>;

  template <Backend B, Real T, Executor E>
  void add(const TensorView<const T>& x, const E& executor, detail::SlotsUndo<Acc>& undo) {
    std::vector<Acc>& states = slots_.open();
    if (may_throw<B>(states)) undo.save_all();
    const Shape& shape = x.shape();
    const Shape block = granularity_.block(shape);
    if (detail::is_one_task(executor, shape.size())) {
      window_t<B, T> window(states, 0);
      window.make_room();
      return window.add_all(
          x.data(), [&](auto&& f) { for_each_run(shape, block, x.strides(), x.strides(), f); });
    }
    const std::size_t n = states.size(), threads = executor.concurrency();
    if (n < 4 * threads) return add_shares<B>(x, block, executor);
    // Slots enough for everyone: each task has some of them for itself.
    const std::size_t tasks = std::min(n, 4 * threads);
    executor(tasks, [&](std::size_t t) {
      const std::size_t first = n * t / tasks, last = n * (t + 1) / tasks;
      undo.save(first, last);
      window_t<B, T> window(std::span<Acc>(states).subspan(first, last - first), first);
      window.add_all(x.data(),
                     [&](auto&& f) { for_each_run(shape, block, x.strides(), x.strides(), f); });
    });
  }

  // Tasks have slots of their own, which are merged at the end.
  template <Backend B, Real T, Executor E>
  void add_shares(const TensorView<const T>& x, const Shape& block, const E& executor) {
    std::vector<Acc>& states = slots_.open();
    detail::Copies parts(detail::shares_of<Acc>(states, prototype_.get()));
    detail::for_each_task(executor, x.shape(), block, x.strides(), x.strides(), [&](auto&& each) {
      std::vector<Acc> part = parts.take();
      window_t<B, T>(part, 0).add_all(x.data(), each);
      parts.give_back(std::move(part));
    });
    for (const std::vector<Acc>& part : parts.all())
      for (std::size_t i = 0; i < part.size(); ++i) states[i].merge(part[i]);
  }

  [[no_unique_address]] Gran granularity_;
  detail::SlotPrototype<Acc> prototype_;
  std::string name_;
  detail::SlotStore<Acc> slots_;
  detail::NextBatch next_;
};

}  // namespace tq
