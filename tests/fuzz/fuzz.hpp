// SPDX-License-Identifier: MIT
#pragma once
// Common parts of fuzz targets: their table, the errors they may throw, and numbers from the bytes
// of an input.

#include <tq/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fuzz {

using Bytes = std::span<const std::uint8_t>;

/// A target, entered in a table by its definition: a function that takes any bytes. It returns, or
/// `require` ends the program; an exception that leaves it does so, too.
class Target {
 public:
  using Function = void (*)(Bytes);
  Target(const char* name, Function function) noexcept
      : name_(name), function_(function), next_(std::exchange(first(), this)) {}
  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] const Target* next() const noexcept { return next_; }
  void operator()(Bytes bytes) const { function_(bytes); }
  /// The head of the table.
  [[nodiscard]] static const Target*& first() noexcept {
    static const Target* head = nullptr;
    return head;
  }

 private:
  const char* name_;
  Function function_;
  const Target* next_;
};

/// Ends the program unless `holds`.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: expected %s\n", what);
  std::abort();
}

/// Calls f; whether it came to its end, and did not refuse its input by a tq::error of a code.
template <class F>
bool accepts(F&& f) {
  try {
    std::forward<F>(f)();
    return true;
  } catch (const tq::error& e) {
    require(e.code() != tq::errc::ok && e.what()[0] != '\0', "an error with a code and a text");
    return false;
  }
}

/// Numbers from the bytes of an input, one after the other; zeros after the last.
class Input {
 public:
  explicit Input(Bytes bytes) noexcept : bytes_(bytes) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T take() noexcept {
    T out{};
    const std::size_t n = std::min(sizeof(T), bytes_.size());
    if (n != 0) std::memcpy(&out, bytes_.data(), n);
    bytes_ = bytes_.subspan(n);
    return out;
  }
  /// In [0, n), from one byte. Precondition: n is in [1, 256].
  [[nodiscard]] std::size_t below(std::size_t n) noexcept { return take<std::uint8_t>() % n; }
  template <class T>
  [[nodiscard]] std::vector<T> many(std::size_t n) {
    std::vector<T> out(n);
    for (T& v : out) v = take<T>();
    return out;
  }
  [[nodiscard]] Bytes rest() const noexcept { return bytes_; }

 private:
  Bytes bytes_;
};

}  // namespace fuzz
