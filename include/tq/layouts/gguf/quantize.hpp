// SPDX-License-Identifier: MIT
#pragma once
// float32 to blocks of GGUF files.

#include <tq/arch/isa.hpp>
#include <tq/error.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/detail/float_lanes.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf {

/// The quantizer of ggml: the same bytes as its reference functions give, of a build without fused
/// multiply-add.
struct ggml {
  template <Block B, class>
  static void encode(const float* x, detail::Importance importance, std::uint8_t* blocks,
                     std::size_t count) noexcept {
    if (importance.columns != nullptr)
      importance.row_mean_square = detail::mean_square(x, count * B::elements);
    for (std::size_t i = 0; i < count; ++i) {
      B::encode(x + i * B::elements, importance, blocks + i * B::bytes);
      if (importance.columns != nullptr) importance.columns += B::elements;
    }
  }
};

/// A quantizer of blocks of B: encodes the `count` blocks of a row. Model:
/// `ggml`.
template <class Q, class B>
concept QuantizerOf =
    Block<B> && requires(const Q& q, const float* x, std::uint8_t* blocks,
                         const detail::Importance& importance, std::size_t count) {
      q.template encode<B, arch::scalar>(x, importance, blocks, count);
    };

/// The largest magnitude that is quantized: scales and minimums of most formats are float16.
inline constexpr float most_magnitude = 65504.0f;

namespace detail {

inline constexpr const char* quantize_function = "tq::layouts::gguf::quantize";

// Every value is finite and, unless the format has scales of more range, fits float16.
template <class Arch>
void require_values(std::span<const float> x, float most) {
  if (are_within<Arch>(x.data(), x.size(), most)) return;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::fabs(x[i]) <= most))
      tq::detail::raise_expected(
          std::isfinite(x[i]) ? errc::bad_argument : errc::not_finite, quantize_function,
          {"finite values of at most ", most, " in magnitude"}, {x[i], " at element ", i});
}

inline constexpr float most_importance = 1e20f;  // squares of errors times it stay finite

inline void require_importance(std::span<const float> importance, std::size_t elements,
                               std::size_t values) {
  if (importance.empty()) return;
  if (importance.size() % elements != 0 || values % importance.size() != 0)
    tq::detail::raise_expected(
        errc::shape_mismatch, quantize_function,
        {"an importance for every column of rows in whole blocks of ", elements},
        {importance.size(), " for ", values, " values"});
  for (std::size_t i = 0; i < importance.size(); ++i)
    if (!(importance[i] >= 0.0f && importance[i] <= most_importance))
      tq::detail::raise_expected(errc::bad_argument, quantize_function, {"importance of 0 to 1e20"},
                                 {importance[i], " at column ", i});
}

}  // namespace detail

/// Encodes `x` [n] into blocks [n / B::elements], by a quantizer. `importance` has a weight for the
/// errors of every column of the rows that `x` consists of; empty: all errors count the same.
/// Throws: `errc::shape_mismatch` for sizes that are not whole blocks, or do not agree;
/// `errc::not_finite` for NaN and infinities, of which ggml makes blocks without meaning;
/// `errc::bad_argument` for magnitudes above `most_magnitude` (of formats with scales of float16)
/// and for importance that is negative or above 1e20. Nothing is written then.
template <Block B, class Quantizer = ggml, class Arch = arch::native>
  requires QuantizerOf<Quantizer, B>
void quantize(std::span<const float> x, std::span<std::uint8_t> blocks,
              const Quantizer& quantizer = {}, std::span<const float> importance = {}) {
  const std::size_t n = x.size() / B::elements;
  tq::detail::require_count(detail::quantize_function, "elements, in whole blocks", n * B::elements,
                            x.size());
  tq::detail::require_count(detail::quantize_function, "bytes of blocks", n * B::bytes,
                            blocks.size());
  constexpr bool wide = std::same_as<B, MXFP4> || std::same_as<B, NVFP4> || std::same_as<B, Q8_K>;
  detail::require_values<Arch>(x, wide ? 3.4028235e38f : most_magnitude);
  detail::require_importance(importance, B::elements, x.size());
  if (x.empty()) return;
  const std::size_t row = importance.empty() ? x.size() : importance.size(),
                    row_bytes = row / B::elements * B::bytes;
  for (std::size_t r = 0; r < x.size() / row; ++r) {
    const detail::Importance weights{importance.empty() ? nullptr : importance.data()};
    quantizer.template encode<B, Arch>(x.data() + r * row, weights, blocks.data() + r * row_bytes,
                                       row / B::elements);
  }
}

/// The same for a type that is known at run time.
/// Throws: as above; `errc::unsupported` for types that the quantizer does not make.
template <class Quantizer = ggml, class Arch = arch::native>
void quantize(Type type, std::span<const float> x, std::span<std::uint8_t> blocks,
              const Quantizer& quantizer = {}, std::span<const float> importance = {}) {
  detail::with_block(detail::quantize_function, type, [&]<class B>(std::type_identity<B>) {
    if constexpr (QuantizerOf<Quantizer, B>)
      quantize<B, Quantizer, Arch>(x, blocks, quantizer, importance);
    else
      tq::detail::raise_expected(errc::unsupported, detail::quantize_function,
                                 {"a type that the quantizer makes"}, {info_of(type).name});
  });
}

}  // namespace tq::layouts::gguf
