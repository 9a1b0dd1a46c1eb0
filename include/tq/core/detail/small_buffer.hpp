// SPDX-License-Identifier: MIT
#pragma once
// SmallBuffer: a Buffer that takes no memory from the heap while it is small, which for a few
// hundred elements costs more than what is done with them.

#include <tq/core/buffer.hpp>

#include <cstddef>
#include <span>

namespace tq {

/// Uninitialised elements of a trivial type: up to `Here` of them within the buffer itself, which
/// therefore stays where it is.
template <class T, std::size_t Here>
class SmallBuffer {
 public:
  SmallBuffer() noexcept {}
  /// Throws: std::bad_alloc.
  explicit SmallBuffer(std::size_t size) { reset(size); }
  SmallBuffer(const SmallBuffer&) = delete;
  SmallBuffer& operator=(const SmallBuffer&) = delete;
  ~SmallBuffer() = default;

  /// Another number of elements, whose values are lost. Throws: std::bad_alloc; it is as it was
  /// then.
  void reset(std::size_t size) {
    if (size > Here) many_ = Buffer<T>(size);
    data_ = size > Here ? many_.data() : few_;
    size_ = size;
  }

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<T> span() noexcept { return {data_, size_}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data_, size_}; }

 private:
  alignas(Buffer<T>::alignment) T few_[Here];
  Buffer<T> many_;
  T* data_ = few_;
  std::size_t size_ = 0;
};

}  // namespace tq
