// SPDX-License-Identifier: MIT
#pragma once
// Measures the stack of calls: at most 64 KiB, beside the stack of a thread that does nothing (its
// descriptor, and the thread-local variables of the program).
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>

#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace stack {

using tq::Shape;
using tq::TensorView;

inline constexpr std::size_t limit = std::size_t{64} << 10;

// Number of bytes that a thread which calls f() has written in its painted stack.
inline std::size_t written(const std::function<void()>& f) {
  constexpr std::size_t size = std::size_t{1} << 20;
  constexpr unsigned char paint = 0xa5;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  std::memset(memory, paint, size);
  pthread_attr_t attributes;
  pthread_t thread;
  const auto run = [](void* p) -> void* {
    (*static_cast<std::function<void()>*>(p))();
    return nullptr;
  };
  std::function<void()> call = f;
  if (pthread_attr_init(&attributes) != 0 ||
      pthread_attr_setstack(&attributes, memory, size) != 0 ||
      pthread_create(&thread, &attributes, run, &call) != 0 || pthread_join(thread, nullptr) != 0)
    std::abort();
  pthread_attr_destroy(&attributes);
  const auto* bytes = static_cast<const unsigned char*>(memory);
  std::size_t rest = 0;
  while (rest < size && bytes[rest] == paint) ++rest;
  munmap(memory, size);
  return size - rest;
}

// Measures calls, and counts those above the limit.
class Stack {
 public:
  // The bytes of stack that f() takes.
  [[nodiscard]] std::size_t of(const std::function<void()>& f) const { return written(f) - own_; }

  void check(const std::string& name, const std::function<void()>& f) {
    const std::size_t taken = of(f);
    if (taken > most_) most_ = taken, name_ = name;
    if (taken <= limit) return;
    std::printf("%s: expected at most %zu bytes of stack, got %zu\n", name.c_str(), limit, taken);
    ++failed_;
  }
  [[nodiscard]] int failed() const {
    std::printf("most: %zu bytes, %s\n", most_, name_.c_str());
    return failed_;
  }

 private:
  std::size_t own_ = written([] {}), most_ = 0;
  std::string name_;
  int failed_ = 0;
};

// A tensor of reals, and one of the same shape to write.
template <class T>
struct Tensors {
  std::vector<T> in, out;
  explicit Tensors(std::size_t n) : in(n), out(n) {
    for (std::size_t i = 0; i < n; ++i)
      in[i] = static_cast<T>(static_cast<float>(i * 7919 % 2001) - 1000.0f);
  }
  [[nodiscard]] TensorView<const T> x(const Shape& s) const { return {in.data(), s}; }
  [[nodiscard]] TensorView<T> y(const Shape& s) { return {out.data(), s}; }
  // The same with neighbours that lie apart.
  [[nodiscard]] TensorView<const T> turned_x(const Shape& s) const {
    return {in.data(), s, {1, static_cast<std::ptrdiff_t>(s[0])}};
  }
  [[nodiscard]] TensorView<T> turned_y(const Shape& s) {
    return {out.data(), s, {1, static_cast<std::ptrdiff_t>(s[0])}};
  }
};

/// Observers and calibrators: observers.cpp.
void check_observers(Stack& stack);

}  // namespace stack
