// SPDX-License-Identifier: MIT
#pragma once
// The source that reads elements of a type of real numbers, and the sink that writes them.

#include <tq/core/real.hpp>
#include <tq/kernels/float64.hpp>
#include <tq/kernels/floats.hpp>
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

template <Real T>
struct sink_of {
  using type = kernels::ToFloats<T>;
};
template <Real T>
  requires requires { typename real_format<T>::type; }
struct sink_of<T> {
  using type = kernels::ToHalves<typename real_format<T>::type>;
};

}  // namespace tq::detail
