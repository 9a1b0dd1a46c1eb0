// SPDX-License-Identifier: MIT
#pragma once
// The bodies of members of Observer. They are no inline functions: see usual_observers.hpp.

#include <tq/core/detail/run.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/executor.hpp>
#include <tq/error.hpp>
#include <tq/observe/detail/slot_window.hpp>
#include <tq/observe/detail/slots_undo.hpp>
#include <tq/observe/observer.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

// Whether to add to the slots may throw once a window has room.
template <Backend B, class Acc>
[[nodiscard]] bool may_throw(std::vector<Acc>& states) {
  constexpr bool takes_columns = requires(const float* x) {
    Acc::template add_columns<B>(std::span<Acc>{}, x, std::size_t{}, std::ptrdiff_t{});
  };  // which take memory
  if constexpr (adds_quietly<B, Acc>) return takes_columns && states.size() > 1;
  else if constexpr (requires(Acc& a) { a.make_room(); })
    return !std::all_of(states.begin(), states.end(), [](Acc& slot) { return slot.make_room(); });
  else return states.size() != 0;
}

// Adds a tensor to slots, of which each block has one.
template <Backend B, class Acc, Real T>
void add_tensor(std::vector<Acc>& states, const TensorView<const T>& x, const Shape& block) {
  SlotWindow<B, Acc, T> window(states, 0);
  window.make_room();
  window.add_tensor(x.data(), x.shape(), block, x.strides());
}

}  // namespace detail

template <Accumulator Acc, Granularity Gran, NonFinitePolicy NonFinite>
void Observer<Acc, Gran, NonFinite>::begin(const Shape& shape) {
  const std::size_t n = slots_for(shape);
  if (next_.is_used) detail::refuse_batch(name_, next_.number);
  if (shape.size() != 0) {
    std::vector<Acc>& states = slots_.open();
    detail::make_slots(states, n, prototype_.get());
    if constexpr (numbers_batches) {
      prototype_.change().begin_batch(next_.number);
      for (Acc& slot : states) slot.begin_batch(next_.number);
    }
  }
  next_.count();
}

template <Accumulator Acc, Granularity Gran, NonFinitePolicy NonFinite>
void Observer<Acc, Gran, NonFinite>::merge(const Observer& other) {
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
  detail::make_slots(states, other.slots_.size(), prototype_.get());
  if constexpr (!noexcept(std::declval<Acc&>().merge(std::declval<const Acc&>()))) undo.save_all();
  other.slots_.for_each([&](std::size_t i, const Acc& slot) { states[i].merge(slot); });
  undo.keep();
}

template <Accumulator Acc, Granularity Gran, NonFinitePolicy NonFinite>
void Observer<Acc, Gran, NonFinite>::merge_packed(const Observer& other) {
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

template <Accumulator Acc, Granularity Gran, NonFinitePolicy NonFinite>
std::size_t Observer<Acc, Gran, NonFinite>::slots_for(const Shape& shape) const {
  if (granularity_.check(shape) != errc::ok || !detail::has_size(shape))
    detail::require_possible(where("observe"), granularity_, shape);
  const std::size_t n = param_count(granularity_, shape);
  if (shape.size() != 0 && !slots_.empty() && slots_.size() != n)
    detail::refuse_slots(name_, slots_.size(), n, Gran::name, shape);
  return n;
}

template <Accumulator Acc, Granularity Gran, NonFinitePolicy NonFinite>
template <Backend B, Real T, Executor E>
void Observer<Acc, Gran, NonFinite>::take(const TensorView<const T>& x, const E& executor) {
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

template <Accumulator Acc, Granularity Gran, NonFinitePolicy NonFinite>
template <Backend B, Real T>
void Observer<Acc, Gran, NonFinite>::take_part(const Shape& shape, std::size_t first,
                                               std::span<const T> x) {
  if (!detail::has_size(shape) || detail::sum_or_most(first, x.size()) > shape.size())
    detail::raise_expected(errc::shape_mismatch, where("add_part"),
                           {"elements of a tensor of shape ", shape.extents()},
                           {x.size(), " from number ", first, " on"});
  std::vector<Acc>& states = slots_.open();
  detail::SlotsUndo<Acc> undo(states, next_);
  if (detail::may_throw<B>(states)) undo.save_all();
  detail::SlotWindow<B, Acc, T> window(states, 0);
  window.make_room();
  window.add_part(shape, granularity_.block(shape), first, x);
  undo.keep();
}

template <Accumulator Acc, Granularity Gran, NonFinitePolicy NonFinite>
template <Backend B, Real T>
void Observer<Acc, Gran, NonFinite>::require_finite(const TensorView<const T>& x) const {
  kernels::Extremes e;
  detail::Widened<B, T> widened;
  for_each_run(x.shape(), PerTensor::block(x.shape()), x.strides(), x.strides(), [&](const Run& r) {
    widened.each_row(x.data() + r.source, r.length, r.count, r.source_stride,
                     [&](std::size_t, std::size_t, std::span<const float> row) {
                       const kernels::Extremes part = B::min_max::run(row.data(), row.size());
                       e.nan += part.nan;
                       e.infinite += part.infinite;
                     });
  });
  if (e.nan + e.infinite != 0)
    detail::raise_expected(errc::not_finite, where("observe"), {"finite values"},
                           {e.nan, " NaN and ", e.infinite, " infinite among ", x.shape().size()});
}

template <Accumulator Acc, Granularity Gran, NonFinitePolicy NonFinite>
template <Backend B, Real T, Executor E>
void Observer<Acc, Gran, NonFinite>::add(const TensorView<const T>& x, const E& executor,
                                         detail::SlotsUndo<Acc>& undo) {
  std::vector<Acc>& states = slots_.open();
  if (detail::may_throw<B>(states)) undo.save_all();
  const Shape& shape = x.shape();
  const Shape block = granularity_.block(shape);
  if (std::same_as<E, Serial> || detail::is_one_task(executor, shape.size()))
    return detail::add_tensor<B>(states, x, block);
  if constexpr (!std::same_as<E, Serial>) {
    const std::size_t n = states.size(), threads = executor.concurrency();
    if (n < 4 * threads) return add_shares<B>(x, block, executor);
    // Slots enough for everyone: each task has some of them for itself.
    const std::size_t tasks = std::min(n, 4 * threads);
    executor(tasks, [&](std::size_t t) {
      const std::size_t first = n * t / tasks, last = n * (t + 1) / tasks;
      undo.save(first, last);
      detail::SlotWindow<B, Acc, T> window(std::span<Acc>(states).subspan(first, last - first),
                                           first);
      window.add_tensor(x.data(), shape, block, x.strides());
    });
  }
}

template <Accumulator Acc, Granularity Gran, NonFinitePolicy NonFinite>
template <Backend B, Real T, Executor E>
void Observer<Acc, Gran, NonFinite>::add_shares(const TensorView<const T>& x, const Shape& block,
                                                const E& executor) {
  std::vector<Acc>& states = slots_.open();
  detail::Copies parts(detail::shares_of<Acc>(states, prototype_.get()));
  detail::for_each_task(executor, x.shape(), block, x.strides(), x.strides(), [&](auto&& each) {
    std::vector<Acc> part = parts.take();
    detail::SlotWindow<B, Acc, T>(part, 0).add_all(x.data(), each);
    parts.give_back(std::move(part));
  });
  for (const std::vector<Acc>& part : parts.all())
    for (std::size_t i = 0; i < part.size(); ++i) states[i].merge(part[i]);
}

}  // namespace tq

#ifdef TQ_KERNEL_LIBRARY
#include <tq/observe/detail/usual_observers.hpp>
#else
#include <tq/observe/observer.ipp>
#endif
