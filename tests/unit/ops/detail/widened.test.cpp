// SPDX-License-Identifier: MIT
#include <tq/ops/detail/widened.hpp>

#include <tq/core/float_elements.hpp>
#include <tq/ops/backend/backend.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/real_tensors.hpp"

namespace {

template <class T>
using Widened = tq::detail::Widened<tq::default_backend, T>;

template <class T>
struct Memory {
  std::vector<T> values = std::vector<T>(200000);
  Memory() {
    inputs::Random r(1);
    for (T& v : values) v = real_tensors::near<T>(r.between(-1000, 1000), r);
  }
  [[nodiscard]] float at(std::ptrdiff_t i) const {
    const T v = values[static_cast<std::size_t>(i)];
    if constexpr (std::same_as<T, float>) return v;
    else return real_tensors::widened(v);
  }
};
template <>
Memory<float>::Memory() {
  inputs::Random r(1);
  for (float& v : values) v = static_cast<float>(r.normal());
}

// Every form of span whose elements fit: rows, rows apart, columns, steps in both directions, one
// value repeated.
template <class T>
int gathered_wrongly() {
  const Memory<T> m;
  Widened<T> widened;
  int failed = 0;
  for (const std::size_t length : {1u, 2u, 7u, 31u, 64u, 65u, 300u, 8192u})
    for (const std::size_t count : {1u, 2u, 5u, 64u, 100u, 8192u}) {
      if (length * count > Widened<T>::capacity) continue;
      const auto n = static_cast<std::ptrdiff_t>(length);
      for (const auto& [row, step] : {std::pair<std::ptrdiff_t, std::ptrdiff_t>{n, 1},
                                      {n + 3, 1},
                                      {1, 9},
                                      {2, 2},
                                      {-1, 9},
                                      {0, 1},
                                      {1, 0},
                                      {0, -2}}) {
        const std::ptrdiff_t first = 90000;
        const std::span<const float> got = widened.gather(
            m.values.data() + first,
            {.length = length, .count = count, .source_stride = row, .source_step = step});
        failed += got.size() != length * count;
        for (std::size_t i = 0; i < got.size(); ++i) {
          const auto k = static_cast<std::ptrdiff_t>(i / length),
                     j = static_cast<std::ptrdiff_t>(i % length);
          failed += !(got[i] <= m.at(first + k * row + j * step) &&
                      got[i] >= m.at(first + k * row + j * step));
        }
      }
    }
  return failed;
}

// Every row once, in order, and nothing else.
template <class T>
int rows_wrongly() {
  const Memory<T> m;
  Widened<T> widened;
  int failed = 0;
  for (const auto& [length, count, stride] : {std::array<std::size_t, 3>{1, 1, 1},
                                              {5, 4000, 7},
                                              {4096, 3, 4096},
                                              {8192, 2, 9000},
                                              {8193, 2, 8200},
                                              {30000, 3, 31000}}) {
    std::size_t row = 0, column = 0;
    widened.each_row(
        m.values.data(), length, count, static_cast<std::ptrdiff_t>(stride),
        [&, n = length, apart = stride](std::size_t k, std::size_t i, std::span<const float> x) {
          failed += k != row || i != column;
          for (std::size_t j = 0; j < x.size(); ++j)
            failed += x[j] != m.at(static_cast<std::ptrdiff_t>(k * apart + i + j));
          column += x.size();
          failed += column > n;
          if (column == n) column = 0, ++row;
        });
    failed += row != count || column != 0;
  }
  return failed;
}

}  // namespace

TEST_CASE("spans of any steps are gathered as float32", "[widened]") {
  CHECK(gathered_wrongly<float>() == 0);
  CHECK(gathered_wrongly<tq::float16>() == 0);
  CHECK(gathered_wrongly<tq::bfloat16>() == 0);
  CHECK(gathered_wrongly<double>() == 0);
}

TEST_CASE("rows come once and in order, long ones in pieces", "[widened]") {
  CHECK(rows_wrongly<float>() == 0);
  CHECK(rows_wrongly<tq::float16>() == 0);
  CHECK(rows_wrongly<double>() == 0);
}
