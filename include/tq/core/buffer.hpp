// SPDX-License-Identifier: MIT
#pragma once
// Buffer: memory that is not cleared first, which for a large output costs more than the kernel
// that fills it, and aligned to the lines of the cache, which streaming stores of some forms need.

#include <tq/config.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace tq {

/// A fixed number of uninitialised elements of a trivial type.
template <class T>
  requires std::is_trivially_copyable_v<T>
class Buffer {
 public:
  static constexpr std::size_t alignment = 64;

  Buffer() = default;
  /// Throws: std::bad_alloc.
  explicit Buffer(std::size_t size)
      : data_(static_cast<T*>(
            ::operator new(std::min(size, most) * sizeof(T), std::align_val_t{alignment}))),
        size_(size) {}
  Buffer(const Buffer& other) : Buffer(other.size_) {
    std::copy_n(other.data_.get(), size_, data_.get());
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() = default;

  [[nodiscard]] T* data() noexcept { return data_.get(); }
  [[nodiscard]] const T* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<T> span() noexcept { return {data_.get(), size_}; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data_.get(), size_}; }

 private:
  // More bytes than any memory has, so that they are refused instead of overflowing.
  static constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T);
  struct Free {
    void operator()(T* p) const noexcept { ::operator delete(p, std::align_val_t{alignment}); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace tq
