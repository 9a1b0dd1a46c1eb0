// SPDX-License-Identifier: MIT
#pragma once
// tensor_adapter: how tensors of another library are read and written.

namespace tq {

/// Makes a type of another library a tensor, where no function can be added to the namespace of
/// that type. (For types of your own a function `tq_as_tensor` is shorter: see `tq::as_tensor`.)
/// A specialization for `X` has
///
///     static constexpr bool owns     // true if the elements die with the object
///     static auto view(X& x)         // a TensorView of the elements; for const objects too
///
/// and may have
///
///     static auto hold(const X& x)   // for expressions without elements in memory: their value,
///                                    // which takes the place of `view`
///     template <class T> static auto like(const X& x)
///                                    // a new tensor of T of the shape of x, which functions
///                                    // return in place of a vector
///
/// The specializations for Eigen and OpenCV are in tq/interop.
template <class X>
struct tensor_adapter {};

}  // namespace tq
