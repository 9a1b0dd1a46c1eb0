// SPDX-License-Identifier: MIT
#pragma once
// GemmRows: the rows of a product, as codes in memory.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/packed_weights.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace tq::detail {

// Codes that rows consist of.
template <class Code>
concept RowCode = ByteCode<Code> || std::same_as<Code, std::int16_t>;

// Codes of [rows, inputs] that are multiplied, and their zero points: none, one, or one a row.
template <RowCode Code>
struct GemmRows {
  TensorView<const Code> codes;
  std::span<const std::int32_t> zero_points;

  [[nodiscard]] std::size_t size() const noexcept { return codes.shape()[0]; }
  [[nodiscard]] std::int32_t zero_point(std::size_t row) const noexcept {
    return zero_points.empty() ? 0 : zero_points.size() == 1 ? zero_points[0] : zero_points[row];
  }
  [[nodiscard]] const Code* row(std::size_t row) const noexcept {
    return codes.data() + static_cast<std::ptrdiff_t>(row) * codes.stride(0);
  }

  // Row `row` less its zero point, a zero more where that is odd, and the sum of it.
  std::int64_t widen(std::size_t row, std::int16_t* out) const noexcept
    requires ByteCode<Code>
  {
    const std::int32_t zero = zero_point(row);
    const Code* x = this->row(row);
    const std::size_t n = codes.shape()[1];
    const std::ptrdiff_t step = codes.stride(1);
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const std::int32_t v = x[static_cast<std::ptrdiff_t>(k) * step] - zero;
      out[k] = static_cast<std::int16_t>(v);
      sum += v;
    }
    if (n % 2 != 0) out[n] = 0;
    return sum;
  }

  // A number less the code that it stands for; both types have as many values.
  template <RowCode Number>
  static constexpr std::int32_t lower =
      int{std::numeric_limits<Number>::min()} - int{std::numeric_limits<Code>::min()};

  // Whether the codes of a row lie beside each other.
  [[nodiscard]] bool is_dense() const noexcept { return codes.stride(1) == 1; }
  // Row `row` as numbers of this type.
  template <RowCode Number>
  void copy(std::size_t row, Number* out) const noexcept {
    const Code* x = this->row(row);
    const std::size_t n = codes.shape()[1];
    const std::ptrdiff_t step = codes.stride(1);
    std::size_t k = 0;
    if (step == 1)
      for (; k + some <= n; k += some) copy_some(x + k, out + k);
    for (; k < n; ++k) out[k] = number<Number>(x[static_cast<std::ptrdiff_t>(k) * step]);
  }

 private:
  template <RowCode Number>
  static Number number(Code c) noexcept {
    return static_cast<Number>(c + lower<Number>);
  }
  // So many, as compilers make registers of loops whose length they know.
  static constexpr std::size_t some = 64;
  template <RowCode Number>
  static void copy_some(const Code* __restrict x, Number* __restrict out) noexcept {
    for (std::size_t k = 0; k < some; ++k) out[k] = number<Number>(x[k]);
  }
};

template <RowCode Code>
void require_product(const char* function, const GemmRows<Code>& x, const PackedWeights& w) {
  const Shape& shape = x.codes.shape();
  static_cast<void>(require_extents(function, shape));
  if (shape.rank() != 2 || shape[1] != w.inputs())
    raise_expected(errc::shape_mismatch, function,
                   {"rows of ", w.inputs(), " codes, as the weights have inputs"},
                   {"shape ", shape.extents()});
  static_cast<void>(require_product(function, "rows and outputs", shape[0], w.outputs()));
  if (!x.zero_points.empty() && x.zero_points.size() != 1 && x.zero_points.size() != shape[0])
    raise_expected(errc::shape_mismatch, function, {"0, 1 or ", shape[0], " zero points"},
                   {x.zero_points.size()});
  using limits = std::numeric_limits<Code>;
  for (const std::int32_t z : x.zero_points)
    if (z < limits::min() || z > limits::max())
      raise_expected(errc::bad_zero_point, function,
                     {"zero points from ", int{limits::min()}, " to ", int{limits::max()}}, {z});
}

}  // namespace tq::detail
