// SPDX-License-Identifier: MIT
#pragma once
// best: a quantizer of K-quants whose stored blocks have less error than those of ggml.

#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/detail/best_offset.hpp>
#include <tq/layouts/gguf/detail/best_symmetric.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf {

/// How long a search may take. `guarded` also makes the block of ggml and keeps the better of the
/// two, so that no super-block has more weighted squared error than ggml's; it takes as long as
/// ggml's quantizer.
enum class Effort : std::uint8_t { fast, balanced, guarded };

/// Formats that `best` makes: Q2_K, Q3_K, Q4_K, Q5_K and Q6_K.
template <class B>
concept Searched = Block<B> &&
    (std::same_as<B, Q2_K> || std::same_as<B, Q3_K> || std::same_as<B, Q4_K> ||
     std::same_as<B, Q5_K> || std::same_as<B, Q6_K>);

namespace detail {

template <class B>
inline constexpr std::array<Try, 8> offset_starts{{{0.0, 0.4},
                                                   {0.4, 0.0},
                                                   {0.2, 0.2},
                                                   {-0.8, 0.2},
                                                   {0.2, -0.8},
                                                   {0.8, 0.1},
                                                   {0.1, 0.8},
                                                   {-0.4, -0.4}}};
inline constexpr std::array<Try, 5> offset_moves{{{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}}};

// Σ w (decoded - x)^2 of a super-block, with w = 1 where there is no importance.
template <class B>
[[nodiscard]] Real block_error(const float* x, const float* weights,
                               const std::uint8_t* block) noexcept {
  float values[B::elements];
  B::decode(block, values);
  Real sum;
  for (std::size_t i = 0; i < B::elements; ++i) {
    const Real e = double{values[i]} - double{x[i]};
    sum = sum + (weights != nullptr ? double{weights[i]} * e * e : e * e);
  }
  return sum;
}

}  // namespace detail

/// Minimises the squared error of the stored block, weighted by importance where it is given: the
/// scales that float16 and few bits can store are searched together with the codes. The bytes are
/// the same on every instruction set.
struct best {
  Effort effort = Effort::balanced;

  template <Searched B>
  void encode(const float* x, const detail::Importance& importance,
              std::uint8_t* block) const noexcept {
    if (importance.columns != nullptr) search<B, true>(x, importance.columns, block);
    else search<B, false>(x, nullptr, block);
    if (effort != Effort::guarded) return;
    std::uint8_t other[B::bytes];
    B::encode(x, importance, other);
    const auto error = [&](const std::uint8_t* bytes) {
      return detail::block_error<B>(x, importance.columns, bytes);
    };
    if (error(other) < error(block)) std::copy_n(other, B::bytes, block);
  }

 private:
  template <class B, bool Weighted>
  void search(const float* x, const float* weights, std::uint8_t* block) const noexcept {
    const bool quick = effort == Effort::fast;
    if constexpr (requires { B::top; }) {
      const std::span<const detail::Try> starts(detail::offset_starts<B>),
          moves(detail::offset_moves);
      B::store(detail::BestOffset<B, Weighted>::find(x, weights, starts.first(quick ? 4 : 8),
                                                     moves.first(quick ? 1 : 3)),
               block);
    } else {
      constexpr std::array<double, 13> starts{0.0,  -0.4, 0.4,  -0.8, -1.2, -1.6, -2.0,
                                              -2.4, -2.8, -3.2, -3.6, -4.0, -4.4};
      constexpr std::array<int, 3> moves{0, 1, -1};
      B::store(detail::BestSymmetric<B, Weighted>::find(x, weights,
                                                        std::span(starts).first(quick ? 5 : 13),
                                                        std::span(moves).first(quick ? 1 : 3)),
               block);
    }
  }
};

}  // namespace tq::layouts::gguf
