// SPDX-License-Identifier: MIT
#pragma once
// Observers that the library of kernels has: files that link it do not compile them.

#include <tq/core/executor.hpp>
#include <tq/observe/detail/slot_store.hpp>
#include <tq/observe/detail/slot_window.hpp>
#include <tq/observe/detail/slots_undo.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>

#include <cstddef>
#include <vector>

namespace tq {

namespace detail {
extern template class SlotStore<Histogram>;
extern template class SlotPrototype<Histogram>;
extern template class SlotsUndo<MinMax>;
extern template class SlotsUndo<Histogram>;
extern template class SlotWindow<default_backend, MinMax, float>;
extern template class SlotWindow<default_backend, Histogram, float>;
extern template void make_slots(std::vector<MinMax>&, std::size_t, const MinMax&);
extern template void make_slots(std::vector<Histogram>&, std::size_t, const Histogram&);
extern template void add_tensor<default_backend>(std::vector<MinMax>&,
                                                 const TensorView<const float>&, const Shape&);
extern template void add_tensor<default_backend>(std::vector<Histogram>&,
                                                 const TensorView<const float>&, const Shape&);
}  // namespace detail

extern template class Observer<MinMax>;
extern template class Observer<Histogram>;
extern template void Observer<MinMax>::take<default_backend>(const TensorView<const float>&,
                                                             const Serial&);
extern template void Observer<Histogram>::take<default_backend>(const TensorView<const float>&,
                                                                const Serial&);

}  // namespace tq
