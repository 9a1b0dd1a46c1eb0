// SPDX-License-Identifier: MIT
#pragma once
// Whole tensors, element by element: codes and real values from the definitions of the
// granularities.

#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/tensor_view.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/index_oracle.hpp"
#include "support/oracle.hpp"

namespace oracle {

// The block extents of each granularity, once more and in its own words.
inline tq::Shape block(const tq::PerTensor&, const tq::Shape& s) {
  tq::Shape b = s;
  for (int i = 0; i < s.rank(); ++i) b[i] = s[i] == 0 ? 1 : s[i];
  return b;
}
template <int Axis>
tq::Shape block(const tq::PerChannel<Axis>& g, const tq::Shape& s) {
  tq::Shape b = block(tq::PerTensor{}, s);
  b[g.axis() < 0 ? s.rank() + g.axis() : g.axis()] = 1;
  return b;
}
template <int Size, int Axis>
tq::Shape block(const tq::PerGroup<Size, Axis>& g, const tq::Shape& s) {
  tq::Shape b = s;
  for (int i = 0; i < s.rank(); ++i) b[i] = 1;
  b[g.axis() < 0 ? s.rank() + g.axis() : g.axis()] = static_cast<std::size_t>(g.size());
  return b;
}
inline tq::Shape block(const tq::PerToken&, const tq::Shape& s) {
  tq::Shape b = s;
  for (int i = 0; i < s.rank(); ++i) b[i] = 1;
  if (s[s.rank() - 1] != 0) b[s.rank() - 1] = s[s.rank() - 1];
  return b;
}
template <int Rows, int Cols>
tq::Shape block(const tq::PerBlock<Rows, Cols>& g, const tq::Shape& s) {
  tq::Shape b = s;
  for (int i = 0; i < s.rank(); ++i) b[i] = 1;
  b[s.rank() - 2] = static_cast<std::size_t>(g.rows());
  b[s.rank() - 1] = static_cast<std::size_t>(g.cols());
  return b;
}

// How many parameters there are: also where the tensor has no elements.
inline std::size_t slots(const tq::PerTensor&, const tq::Shape&) { return 1; }
template <int Axis>
std::size_t slots(const tq::PerChannel<Axis>& g, const tq::Shape& s) {
  return s[g.axis() < 0 ? s.rank() + g.axis() : g.axis()];
}
template <int Size, int Axis>
std::size_t slots(const tq::PerGroup<Size, Axis>& g, const tq::Shape& s) {
  const int axis = g.axis() < 0 ? s.rank() + g.axis() : g.axis();
  const auto size = static_cast<std::size_t>(g.size());
  std::size_t n = 1;
  for (int i = 0; i < s.rank(); ++i) n *= i == axis ? s[i] / size + (s[i] % size != 0) : s[i];
  return n;
}
inline std::size_t slots(const tq::PerToken&, const tq::Shape& s) {
  std::size_t n = 1;
  for (int i = 0; i + 1 < s.rank(); ++i) n *= s[i];
  return n;
}
template <int Rows, int Cols>
std::size_t slots(const tq::PerBlock<Rows, Cols>& g, const tq::Shape& s) {
  std::size_t n = 1;
  for (int i = 0; i < s.rank(); ++i) {
    const auto size = static_cast<std::size_t>(i == s.rank() - 2   ? g.rows()
                                               : i == s.rank() - 1 ? g.cols()
                                                                   : 1);
    n *= (s[i] + size - 1) / size;
  }
  return n;
}

inline std::size_t params(const tq::Shape& shape, const tq::Shape& block) {
  std::size_t n = 1;
  for (int i = 0; i < shape.rank(); ++i) n *= (shape[i] + block[i] - 1) / block[i];
  return n;
}

/// Codes in row-major order. The draws of stochastic rounding are numbered by `draw_strides`.
template <class Params, class N>
std::vector<typename Params::code_type> codes(tq::ConstTensorView x, const Params& p,
                                              const tq::Shape& block, const N& n) {
  std::vector<typename Params::code_type> out;
  each_index(x.shape(), [&](const std::vector<std::size_t>& index) {
    const tq::Affine a = p.affine(param(index, x.shape(), block));
    out.push_back(static_cast<typename Params::code_type>(
        quantize(x.data()[offset(index, x.strides())], a.scale, a.zero_point, Params::codes.min,
                 Params::codes.max, n, out.size())));
  });
  return out;
}
template <class Params>
std::vector<float> values(const std::vector<typename Params::code_type>& codes,
                          const tq::Shape& shape, const Params& p, const tq::Shape& block) {
  std::vector<float> out;
  each_index(shape, [&](const std::vector<std::size_t>& index) {
    const tq::Affine a = p.affine(param(index, shape, block));
    out.push_back(dequantize(codes[out.size()], a.scale, a.zero_point));
  });
  return out;
}

/// Packed bytes, bit by bit.
template <class Type, class Pack>
std::vector<std::byte> bytes(const std::vector<typename Type::code_type>& codes) {
  constexpr std::size_t bits = static_cast<std::size_t>(
      Pack::order == tq::BitOrder::unpacked ? 8 * static_cast<int>(sizeof(typename Type::code_type))
                                            : Type::bits);
  std::vector<std::byte> out((codes.size() * bits + 7) / 8);
  for (std::size_t i = 0; i < codes.size(); ++i)
    for (std::size_t b = 0; b < bits; ++b) {
      const std::size_t at = i * bits + b;
      constexpr bool high = Pack::order == tq::BitOrder::high_first && Type::bits < 8;
      const auto code = static_cast<std::uint32_t>(static_cast<std::int32_t>(codes[i]));
      const unsigned bit = (code >> (high ? bits - 1 - b : b)) & 1u;
      out[at / 8] |= static_cast<std::byte>(bit << (high ? 7 - at % 8 : at % 8));
    }
  return out;
}

/// Smallest and largest finite value of every block; 0 and 0 where there is none.
inline std::vector<tq::Range> ranges(tq::ConstTensorView x, const tq::Shape& block) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<tq::Range> out(params(x.shape(), block), {inf, -inf});
  each_index(x.shape(), [&](const std::vector<std::size_t>& index) {
    const float v = x.data()[offset(index, x.strides())];
    tq::Range& r = out[param(index, x.shape(), block)];
    if (!std::isfinite(v)) return;
    r.min = v < r.min ? v : r.min;
    r.max = v > r.max ? v : r.max;
  });
  for (tq::Range& r : out)
    if (r.min > r.max) r = {0, 0};
  return out;
}

}  // namespace oracle
