// SPDX-License-Identifier: MIT
#pragma once
// source_of: the source that reads elements of a type of real numbers.

#include <tq/core/real.hpp>
#include <tq/kernels/float64.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/kernels/values.hpp>

namespace tq::detail {

template <Real T>
struct source_of {
  using type = kernels::Values<typename real_format<T>::type>;
};
template <>
struct source_of<float> {
  using type = kernels::Float32;
};
template <>
struct source_of<double> {
  using type = kernels::Float64;
};

}  // namespace tq::detail
