// SPDX-License-Identifier: MIT
#pragma once
// BlockFields: the codes, scales and offsets of a block, apart from how they are packed.

#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/params_of.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::layouts::gguf::detail {

template <class B, class... Some>
inline constexpr bool is_block_of = (std::is_same_v<B, Some> || ...);
template <class B>
inline constexpr bool has_minimums = is_block_of<B, Q2_K, Q4_K, Q5_K>;

// The code of the value 0, of formats whose codes have one.
template <class B>
inline constexpr int zero_code = [] {
  if constexpr (is_block_of<B, Q2_0, TQ1_0, TQ2_0>) return 1;
  else if constexpr (is_block_of<B, Q8_0>) return 128;
  else return B::zero;
}();

// The float16 of a block and the whole numbers under it, of formats that have such.
template <class B>
struct BlockFactors {};
template <SuperBlocked B>
struct BlockFactors<B> {
  typename B::Scales factors;
};

// The codes of a block in order, without signs, and the scale and the offset of each group. The
// scale of a sub-block is its product with the scale of the block, and the offset that of its
// minimum, with the sign changed: both are exact as float32.
template <Unpackable B>
struct BlockFields : BlockFactors<B> {
  static constexpr auto group =
      static_cast<std::size_t>(typename params_of<B>::granularity_type{}.size());
  static constexpr std::size_t groups = B::elements / group;
  std::uint8_t codes[B::elements];
  float scales[groups];
  float offsets[groups];

  // The offset of a group, or 0 where the format has none.
  [[nodiscard]] float offset(std::size_t g) const noexcept {
    if constexpr (params_of<B>::has_offset) return offsets[g];
    else return 0.0f;
  }
};

// Two codes of 4 bits from each of `n` bytes: the low halves, then the high halves.
inline void load_nibbles(const std::uint8_t* from, std::size_t n, std::uint8_t* codes) noexcept {
  for (std::size_t j = 0; j < n; ++j) {
    codes[j] = from[j] & 15;
    codes[j + n] = static_cast<std::uint8_t>(from[j] >> 4);
  }
}
template <std::size_t N>
void take_codes(const int* from, int zero, std::uint8_t (&codes)[N]) noexcept {
  for (std::size_t i = 0; i < N; ++i) codes[i] = static_cast<std::uint8_t>(from[i] + zero);
}

template <class B>
  requires is_block_of<B, Q1_0, Q2_0, TQ1_0, TQ2_0>
void load_fields(const std::uint8_t* block, BlockFields<B>& f) noexcept {
  f.scales[0] = B::load(block, f.codes);
}
template <class B>
  requires is_block_of<B, Q4_0, Q5_0, Q4_1, Q5_1>
void load_fields(const std::uint8_t* block, BlockFields<B>& f) noexcept {
  constexpr std::size_t numbers = is_block_of<B, Q4_1, Q5_1> ? 4 : 2;
  int codes[32];
  HalvesOf32<params_of<B>::type::bits>::load(block + numbers, codes);
  take_codes(codes, 0, f.codes);
  f.scales[0] = load_half(block);
  if constexpr (numbers == 4) f.offsets[0] = load_half(block + 2);
}
inline void load_fields(const std::uint8_t* block, BlockFields<Q8_0>& f) noexcept {
  for (std::size_t j = 0; j < 32; ++j) f.codes[j] = block[2 + j] ^ 0x80;
  f.scales[0] = load_half(block);
}
inline void load_fields(const std::uint8_t* block, BlockFields<IQ4_NL>& f) noexcept {
  load_nibbles(block + 2, 16, f.codes);
  f.scales[0] = load_half(block);
}
inline void load_fields(const std::uint8_t* block, BlockFields<IQ4_XS>& f) noexcept {
  IQ4_XS::load_scales(block, f.factors);
  for (std::size_t k = 0; k < 8; ++k) {
    load_nibbles(block + 8 + 16 * k, 16, f.codes + 32 * k);
    f.scales[k] = f.factors.d * static_cast<float>(f.factors.scales[k]);
  }
}
inline void load_fields(const std::uint8_t* block, BlockFields<MXFP4>& f) noexcept {
  load_nibbles(block + 1, 16, f.codes);
  f.scales[0] = 2.0f * half_of_e8m0(block[0]);
}
inline void load_fields(const std::uint8_t* block, BlockFields<NVFP4>& f) noexcept {
  for (std::size_t s = 0; s < 4; ++s) {
    load_nibbles(block + 4 + 8 * s, 8, f.codes + 16 * s);
    f.scales[s] = 2.0f * half_of_ue4m3(block[s]);
  }
}
template <class B>
  requires is_block_of<B, Q3_K, Q6_K> || has_minimums<B>
void load_fields(const std::uint8_t* block, BlockFields<B>& f) noexcept {
  typename B::Fields fields;
  B::load(block, fields);
  if constexpr (has_minimums<B>) take_codes(fields.codes, 0, f.codes);
  else take_codes(fields.codes, B::zero, f.codes);
  f.factors = fields;
  for (std::size_t j = 0; j < BlockFields<B>::groups; ++j) {
    f.scales[j] = fields.d * static_cast<float>(fields.scales[j]);
    if constexpr (has_minimums<B>)
      f.offsets[j] = -(fields.dmin * static_cast<float>(fields.minimums[j]));
  }
}

// Writes the block of the fields, of super-blocks that of the factors.
template <class B>
  requires is_block_of<B, Q1_0, Q2_0, TQ1_0, TQ2_0, Q4_0, Q5_0, Q8_0, IQ4_NL>
void store_fields(const BlockFields<B>& f, std::uint8_t* block) noexcept {
  B::store(f.scales[0], f.codes, block);
}
template <class B>
  requires is_block_of<B, Q4_1, Q5_1>
void store_fields(const BlockFields<B>& f, std::uint8_t* block) noexcept {
  B::store(f.scales[0], f.offsets[0], f.codes, block);
}
inline void store_fields(const BlockFields<MXFP4>& f, std::uint8_t* block) noexcept {
  block[0] = static_cast<std::uint8_t>(float8_e8m0fnu::format::encode<NonSaturate>(f.scales[0]));
  store_nibbles(f.codes, f.codes + 16, 16, block + 1);
}
inline void store_fields(const BlockFields<NVFP4>& f, std::uint8_t* block) noexcept {
  for (std::size_t s = 0; s < 4; ++s) {
    block[s] = static_cast<std::uint8_t>(float8_e4m3fn::format::encode<NonSaturate>(f.scales[s]));
    store_nibbles(f.codes + 16 * s, f.codes + 16 * s + 8, 8, block + 4 + 8 * s);
  }
}
template <SuperBlocked B>
void store_fields(const BlockFields<B>& f, std::uint8_t* block) noexcept {
  B::store_scales(f.factors, block);
  B::store_codes(f.codes, block);
}

}  // namespace tq::layouts::gguf::detail
