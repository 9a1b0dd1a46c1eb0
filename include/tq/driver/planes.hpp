// SPDX-License-Identifier: MIT
#pragma once
// Planes of numbers that lie in memory as the driver wants them.

#include <tq/driver/span.hpp>

#include <cstddef>
#include <cstring>

namespace tq::driver {

/// The plane of numbers in memory as they are: scales of float32, zero points of int32. `For` is in
/// the name, not in the code: one symbol for each instruction set or backend.
template <class For, class T>
[[nodiscard]] Plane plain(const T* numbers) noexcept {
  static_assert(sizeof(T) == 4);
  if (numbers == nullptr) return {};
  return {numbers, [](const void* data, std::size_t first, std::size_t n, std::size_t stride,
                      void* out) noexcept {
            const T* from = static_cast<const T*>(data) + first;
            if (stride == 1) std::memcpy(out, from, n * sizeof(T));
            else
              for (std::size_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = from[i * stride];
          }};
}

/// The plane whose only scale is 1.
template <class For>
[[nodiscard]] Plane ones() noexcept {
  static constexpr float one = 1.0f;
  return plain<For>(&one);
}

}  // namespace tq::driver
