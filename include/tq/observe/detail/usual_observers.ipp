// SPDX-License-Identifier: MIT
#pragma once
// The observers of tq/observe/detail/usual_observers.hpp.

#include <tq/observe/detail/usual_observers.hpp>

namespace tq {

namespace detail {
template class SlotStore<Histogram>;
template class SlotPrototype<Histogram>;
template class SlotsUndo<MinMax>;
template class SlotsUndo<Histogram>;
template class SlotWindow<default_backend, MinMax, float>;
template class SlotWindow<default_backend, Histogram, float>;
template void make_slots(std::vector<MinMax>&, std::size_t, const MinMax&);
template void make_slots(std::vector<Histogram>&, std::size_t, const Histogram&);
template void add_tensor<default_backend>(std::vector<MinMax>&, const TensorView<const float>&,
                                          const Shape&);
template void add_tensor<default_backend>(std::vector<Histogram>&, const TensorView<const float>&,
                                          const Shape&);
}  // namespace detail

template class Observer<MinMax>;
template class Observer<Histogram>;
template void Observer<MinMax>::take<default_backend>(const TensorView<const float>&,
                                                      const Serial&);
template void Observer<Histogram>::take<default_backend>(const TensorView<const float>&,
                                                         const Serial&);

}  // namespace tq
