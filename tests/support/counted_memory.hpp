// SPDX-License-Identifier: MIT
#pragma once
// Counts what a program allocates. It replaces the global operators new and delete: one file of a
// program includes it.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace test {

inline std::atomic<std::ptrdiff_t> held{0};         // bytes allocated and not freed yet
inline std::atomic<std::ptrdiff_t> allocations{0};  // how often anything was
inline std::atomic<std::ptrdiff_t> total{0};        // bytes ever allocated

namespace detail {
// Every allocation lies behind its size, as far as its alignment asks.
inline void* allocate(std::size_t size, std::size_t alignment) noexcept {
  const std::size_t room = std::max(alignment, alignof(std::max_align_t));
  auto* block =
      static_cast<std::byte*>(std::aligned_alloc(room, (size + 2 * room - 1) / room * room));
  if (block == nullptr) return nullptr;
  std::memcpy(block, &size, sizeof(size));
  held += static_cast<std::ptrdiff_t>(size);
  total += static_cast<std::ptrdiff_t>(size);
  ++allocations;
  return block + room;
}
inline void release(void* p, std::size_t alignment) noexcept {
  if (p == nullptr) return;
  std::byte* block = static_cast<std::byte*>(p) - std::max(alignment, alignof(std::max_align_t));
  std::size_t size = 0;
  std::memcpy(&size, block, sizeof(size));
  held -= static_cast<std::ptrdiff_t>(size);
  std::free(block);
}
inline void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  if (void* p = allocate(size, alignment)) return p;
  throw std::bad_alloc();
}
}  // namespace detail

}  // namespace test

// The other forms call these.
void* operator new(std::size_t size) { return test::detail::allocate_or_throw(size, 1); }
void* operator new(std::size_t size, std::align_val_t a) {
  return test::detail::allocate_or_throw(size, static_cast<std::size_t>(a));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return test::detail::allocate(size, 1);
}
void operator delete(void* p) noexcept { test::detail::release(p, 1); }
void operator delete(void* p, std::size_t) noexcept { test::detail::release(p, 1); }
void operator delete(void* p, std::align_val_t a) noexcept {
  test::detail::release(p, static_cast<std::size_t>(a));
}
void operator delete(void* p, std::size_t, std::align_val_t a) noexcept {
  test::detail::release(p, static_cast<std::size_t>(a));
}
