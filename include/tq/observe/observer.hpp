// SPDX-License-Identifier: MIT
#pragma once
// Observer: fans a tensor out over one accumulator per parameter slot.

#include <tq/core/granularity.hpp>
#include <tq/core/run.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/kernels/backend.hpp>
#include <tq/observe/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

namespace detail {
template <class Backend, class A>
void add_to(A& slot, std::span<const float> x) {
  if constexpr (requires { slot.template add<Backend>(x); })
    slot.template add<Backend>(x);
  else
    slot.add(x);
}
}  // namespace detail

/// One accumulator per parameter of `Gran`. All tensors observed must have the same number of slots.
template <Accumulator Acc, Granularity Gran = PerTensor>
class Observer {
 public:
  using accumulator_type = Acc;
  using granularity_type = Gran;

  explicit Observer(Gran granularity = Gran{}, Acc prototype = Acc{})
      : granularity_(granularity), prototype_(std::move(prototype)) {}

  /// Adds the elements of `x`. An empty tensor changes nothing.
  /// Throws: `errc::bad_axis`, `errc::bad_group_size` when the granularity does not fit;
  /// `errc::shape_mismatch` when earlier tensors had another number of slots.
  template <Backend B = default_backend>
  void observe(ConstTensorView x) {
    const Shape& shape = x.shape();
    if (const errc e = granularity_.check(shape); e != errc::ok)
      raise(e, "tq::Observer::observe: " + std::string(Gran::name) + " is impossible over shape " +
                   to_string(shape) + " (" + to_string(e) + ")");
    if (shape.size() == 0) return;
    const std::size_t n = param_count(granularity_, shape);
    if (slots_.empty()) slots_.resize(n, prototype_);
    if (slots_.size() != n)
      raise(errc::shape_mismatch, "tq::Observer::observe: expected a tensor with " +
                                      std::to_string(slots_.size()) + " slots as before, got " +
                                      std::to_string(n) + " (" + std::string(Gran::name) + " over shape " +
                                      to_string(shape) + ")");
    for_each_run(shape, granularity_.block(shape), x.strides(), x.strides(),
                 [&](const Run& r) { add_run<B>(r, x.data() + r.source); });
  }

  /// Takes what another observer of the same granularity saw.
  /// Throws: `errc::shape_mismatch` when the numbers of slots differ (and neither is empty).
  void merge(const Observer& other) {
    if (other.slots_.empty()) return;
    if (slots_.empty()) slots_.resize(other.slots_.size(), prototype_);
    if (slots_.size() != other.slots_.size())
      raise(errc::shape_mismatch, "tq::Observer::merge: expected " + std::to_string(slots_.size()) +
                                      " slots, got " + std::to_string(other.slots_.size()));
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].merge(other.slots_[i]);
  }

  void reset() noexcept { slots_.clear(); }

  /// One per parameter, in the order of the parameters; none before the first element.
  [[nodiscard]] std::span<const Acc> slots() const noexcept { return slots_; }
  [[nodiscard]] const Gran& granularity() const noexcept { return granularity_; }

 private:
  template <class Backend>
  void add_run(const Run& r, const float* x) {
    const auto row = [&](std::size_t k) { return x + static_cast<std::ptrdiff_t>(k) * r.source_stride; };
    if (r.step == 0) {
      for (std::size_t k = 0; k < r.count; ++k)
        detail::add_to<Backend>(slots_[r.param + k * r.param_stride], {row(k), r.length});
    } else if (r.param_stride != 0) {
      for (std::size_t k = 0; k < r.count; ++k)
        for (std::size_t i = 0; i < r.length; ++i)
          detail::add_to<Backend>(slots_[r.param + k * r.param_stride + i], {row(k) + i, 1});
    } else if constexpr (requires(std::span<Acc> s) {
                           Acc::template add_columns<Backend>(s, x, r.count, r.source_stride);
                         }) {
      Acc::template add_columns<Backend>(std::span(slots_).subspan(r.param, r.length), x, r.count, r.source_stride);
    } else {  // gather each column
      std::vector<float> column(std::min<std::size_t>(r.count, 4096));
      for (std::size_t i = 0; i < r.length; ++i)
        for (std::size_t k = 0; k < r.count; k += column.size()) {
          const std::size_t n = std::min(column.size(), r.count - k);
          for (std::size_t j = 0; j < n; ++j) column[j] = row(k + j)[i];
          detail::add_to<Backend>(slots_[r.param + i], {column.data(), n});
        }
    }
  }

  [[no_unique_address]] Gran granularity_;
  Acc prototype_;
  std::vector<Acc> slots_;
};

}  // namespace tq
