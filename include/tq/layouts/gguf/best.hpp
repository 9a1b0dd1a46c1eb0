// SPDX-License-Identifier: MIT
#pragma once
// best: a quantizer whose stored blocks have less error than those of ggml.

#include <tq/arch/isa.hpp>
#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/detail/best_offset.hpp>
#include <tq/layouts/gguf/detail/best_simple.hpp>
#include <tq/layouts/gguf/detail/best_symmetric.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf {

/// How long a search may take. `guarded` also makes the blocks of ggml and keeps the best, so that
/// no block has more weighted squared error than ggml's; it takes as long as ggml's quantizer.
/// `balanced` and `slow` do so only for blocks on which a search of few grids can be behind: whose
/// values have one sign in a sub-block, are nearly codes, or are far smaller in some sub-blocks.
enum class Effort : std::uint8_t { fast, balanced, slow, guarded };

namespace detail {

template <class B, class... Of>
inline constexpr bool is_one_of = (std::same_as<B, Of> || ...);
// Formats by what they store: a scale, or a scale and an offset, and of how many sub-blocks.
template <class B>
inline constexpr bool is_scaled = is_one_of<B, Q4_0, Q5_0, Q8_0, IQ4_NL>;
template <class B>
inline constexpr bool is_shifted = is_one_of<B, Q4_1, Q5_1>;
template <class B>
inline constexpr bool has_offsets = is_one_of<B, Q2_K, Q4_K, Q5_K>;
template <class B>
inline constexpr bool has_scales = is_one_of<B, Q3_K, Q6_K, IQ4_XS>;

}  // namespace detail

/// Formats that `best` makes: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL, IQ4_XS and Q2_K to Q6_K.
template <class B>
concept Searched = Block<B> && (detail::is_scaled<B> || detail::is_shifted<B> ||
                                detail::has_offsets<B> || detail::has_scales<B>);

namespace detail {

inline constexpr std::array<Try, 16> offset_starts{{{0.0f, 0.4f},
                                                    {0.4f, 0.0f},
                                                    {0.2f, 0.2f},
                                                    {-0.8f, 0.2f},
                                                    {0.2f, -0.8f},
                                                    {0.8f, 0.1f},
                                                    {0.1f, 0.8f},
                                                    {-0.4f, -0.4f},
                                                    {0.6f, 0.6f},
                                                    {-0.4f, 0.6f},
                                                    {0.6f, -0.4f},
                                                    {-1.2f, 0.4f},
                                                    {0.4f, -1.2f},
                                                    {1.2f, 0.2f},
                                                    {0.2f, 1.2f},
                                                    {-0.2f, 0.0f}}};
inline constexpr std::array<Try, 9> offset_moves{
    {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, -1}, {2, 0}, {-2, 0}}};

// Where grids of symmetric formats are tried: how many steps the extreme value is from 0, the best
// ones first, and how many of them a fast and a balanced search try.
template <std::size_t N>
struct Starts {
  std::array<float, N> reach;
  std::size_t fast, balanced;
};
template <class B>
inline constexpr Starts symmetric_starts = [] {
  if constexpr (is_one_of<B, IQ4_NL, IQ4_XS>)
    return Starts<14>{
        {127, 135, -116, 120, 108, -110, -122, 132, 141, 102, 123, 111, -92, 129}, 4, 5};
  else if constexpr (is_one_of<B, Q8_0>)
    return Starts<8>{{127, 126.5f, 127.4f, 126.0f, 125.5f, 125.0f, 124.5f, 124.0f}, 2, 6};
  else if constexpr (is_one_of<B, Q6_K>)
    return Starts<14>{{32, 30.8f, 30.0f, 29.2f, 28.0f, 31.2f, 27.2f, 32.4f, 26.0f, 28.8f, 25.2f,
                       31.6f, 24.0f, 30.4f},
                      4,
                      8};
  else if constexpr (is_one_of<B, Q5_0>)
    return Starts<14>{{16, 15, 16.4f, 14.2f, 15.8f, 16.8f, 13.0f, 15.2f, 13.8f, 14.8f, 16.2f, 16.6f,
                       15.6f, 12.6f},
                      4,
                      10};
  else if constexpr (is_one_of<B, Q4_0>)
    return Starts<14>{
        {8, 8.6f, 7.2f, 8.2f, 7.8f, 9.0f, 6.8f, 8.4f, 6.2f, 7.6f, 8.8f, 7.0f, 7.4f, 9.2f}, 4, 8};
  else return Starts<10>{{4, 4.6f, 3.2f, 4.2f, 3.8f, 5.0f, 3.0f, 4.4f, 2.0f, 3.4f}, 4, 6};
}();
inline constexpr std::array<float, 5> symmetric_moves{0, 1, -1, 2, -2};

template <class B>
struct CodesOf {
  using type = EvenCodes<B::zero>;
};
template <class B>
  requires is_one_of<B, IQ4_NL, IQ4_XS>
struct CodesOf<B> {
  using type = Iq4Codes;
};
template <>
struct CodesOf<Q8_0> {
  using type = EvenCodes<128, -127>;
};

// Σ w (decoded - x)^2 of a block, with w = 1 where there is no importance.
template <class B>
[[nodiscard]] double block_error(const float* x, const float* weights,
                                 const std::uint8_t* block) noexcept {
  float values[B::elements];
  B::decode(block, values);
  double sum = 0.0;
  for (std::size_t i = 0; i < B::elements; ++i) {
    const double e = double{values[i]} - double{x[i]};
    const double w = weights != nullptr ? double{weights[i]} : 1.0;
    sum += tq::detail::uncontracted(w * tq::detail::uncontracted(e * e));
  }
  return sum;
}

}  // namespace detail

/// Minimises the squared error of the stored block, weighted by importance where it is given: the
/// scales that float16 and few bits can store are searched together with the codes. The bytes are
/// the same on every instruction set.
struct best {
  Effort effort = Effort::balanced;

  template <Searched B, class Arch>
  void encode(const float* x, const detail::Importance& importance, std::uint8_t* blocks,
              std::size_t count) const noexcept {
    if (importance.columns != nullptr)
      encode_row<B, Arch, true>(x, importance.columns, blocks, count);
    else encode_row<B, Arch, false>(x, nullptr, blocks, count);
  }

 private:
  template <class B, class Arch, bool Weighted>
  void encode_row(const float* x, const float* weights, std::uint8_t* blocks,
                  std::size_t count) const noexcept {
    constexpr std::size_t together =
        B::elements == 32 ? detail::simple_blocks : detail::super_blocks;
    float mean_square = -1.0f;  // of the row, where ggml's quantizer takes part
    for (std::size_t i = 0; i < count; i += together) {
      const std::size_t n = std::min(together, count - i);
      std::uint32_t doubtful = search<B, detail::search_arch<Arch>, Weighted>(
          x + i * B::elements, Weighted ? weights + i * B::elements : nullptr,
          blocks + i * B::bytes, n);
      if (effort == Effort::fast) continue;
      if (effort == Effort::guarded) doubtful = 0xffffffffu;
      for (std::size_t j = i; j < i + n; ++j) {
        if ((doubtful >> (j - i) & 1u) == 0) continue;
        const float* const values = x + j * B::elements;
        if (!Weighted) mean_square = detail::mean_square(values, B::elements);
        else if (mean_square < 0.0f) mean_square = detail::mean_square(x, count * B::elements);
        keep_better<B>(values, {Weighted ? weights + j * B::elements : nullptr, mean_square},
                       blocks + j * B::bytes);
      }
    }
  }
  // The block, or one of those of ggml if it has less error. Without importance ggml's quantizer
  // takes part twice, also with an importance of 1.
  template <class B>
  static void keep_better(const float* x, const detail::Importance& importance,
                          std::uint8_t* block) noexcept {
    std::array<float, B::elements> ones;
    ones.fill(1.0f);
    const auto take = [&](const detail::Importance& by) {
      std::uint8_t other[B::bytes];
      B::encode(x, by, other);
      const auto error = [&](const std::uint8_t* bytes) {
        return detail::block_error<B>(x, importance.columns, bytes);
      };
      if (error(other) < error(block)) std::copy_n(other, B::bytes, block);
    };
    take(importance);
    if (importance.columns == nullptr && B::uses_importance)
      take({ones.data(), importance.row_mean_square});
  }
  // The first of what can be tried, by effort.
  template <class T, std::size_t N>
  [[nodiscard]] std::span<const T> first(const std::array<T, N>& all, std::size_t fast,
                                         std::size_t balanced) const noexcept {
    return std::span(all).first(effort == Effort::fast   ? fast
                                : effort == Effort::slow ? N
                                                         : balanced);
  }
  // With importance, fewer values decide, and a balanced search tries more.
  template <class B, bool Weighted>
  [[nodiscard]] std::span<const float> starts() const noexcept {
    constexpr const auto& all = detail::symmetric_starts<B>;
    return first(all.reach, all.fast,
                 Weighted ? std::min(2 * all.balanced, all.reach.size()) : all.balanced);
  }
  template <class B, class Arch, bool Weighted>
  std::uint32_t search(const float* x, const float* weights, std::uint8_t* blocks,
                       std::size_t count) const noexcept {
    using namespace detail;
    if constexpr (is_scaled<B>) {
      return encode_scaled<Arch, B, typename CodesOf<B>::type, Weighted>(x, weights, blocks, count,
                                                                         starts<B, Weighted>());
    } else if constexpr (is_shifted<B>) {
      return encode_shifted<Arch, B, Weighted>(x, weights, blocks, count,
                                               first(offset_starts, 4, Weighted ? 14 : 8));
    } else if constexpr (has_offsets<B>) {
      constexpr std::size_t tries = B::top == 15 ? 8 : 4;
      return BestOffset<Arch, B, Weighted>::encode(
          x, weights, first(offset_starts, 4, Weighted ? std::size_t{B::top == 3 ? 8 : 14} : tries),
          first(offset_moves, 1, Weighted ? 5 : 3), blocks, count);
    } else {
      return BestSymmetric<Arch, B, typename CodesOf<B>::type, Weighted>::encode(
          x, weights, starts<B, Weighted>(), first(symmetric_moves, 1, Weighted ? 3 : 1), blocks,
          count);
    }
  }
};

}  // namespace tq::layouts::gguf
