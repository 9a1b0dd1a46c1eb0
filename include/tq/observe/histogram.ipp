// SPDX-License-Identifier: MIT
#pragma once
// Histograms that the library of kernels has.

#include <tq/observe/histogram.hpp>

namespace tq {

template class BasicHistogram<2048, false>;
template class BasicHistogram<2048, true>;
template void Histogram::add<default_backend>(std::span<const float>) noexcept;
template void AbsHistogram::add<default_backend>(std::span<const float>) noexcept;

}  // namespace tq
