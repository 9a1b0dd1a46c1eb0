// SPDX-License-Identifier: MIT
#pragma once
// The deprecated calls of FakeQuantize, which name the backend as a template argument.

#include <tq/ops/backend/on.hpp>

#include <span>
#include <utility>

namespace tq::detail {

// A base of `Layer`.
template <class Layer>
class BackendForms {
 public:
  template <Backend B, class... Args>
  [[deprecated("tq::FakeQuantize::forward: pass tq::on<B> as an option")]] void forward(
      Args&&... args) {
    static_cast<Layer&>(*this).forward(std::forward<Args>(args)..., on<B>);
  }
  template <Backend B, class... Args>
  [[deprecated("tq::FakeQuantize::forward: pass tq::on<B> as an option")]] void forward(
      Args&&... args) const {
    static_cast<const Layer&>(*this).forward(std::forward<Args>(args)..., on<B>);
  }
  template <Backend B, class... Args>
  [[deprecated("tq::FakeQuantize::backward: pass tq::on<B> as an option")]] std::span<const float>
  backward(Args&&... args) {
    return static_cast<Layer&>(*this).backward(std::forward<Args>(args)..., on<B>);
  }
};

}  // namespace tq::detail
