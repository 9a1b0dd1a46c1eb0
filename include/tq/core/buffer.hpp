// SPDX-License-Identifier: MIT
#pragma once
// Buffer: memory that is not cleared first. Clearing a large output costs more than the kernel that fills it.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace tq {

/// A fixed number of uninitialised elements of a trivial type.
template <class T>
  requires std::is_trivially_copyable_v<T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : data_(std::make_unique_for_overwrite<T[]>(size)), size_(size) {}
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
  std::unique_ptr<T[]> data_;
  std::size_t size_ = 0;
};

}  // namespace tq
