// SPDX-License-Identifier: MIT
#pragma once
// The parameters of unpacked blocks, of numbers that their scale types hold exactly.

#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/super_block_scales.hpp>
#include <tq/error.hpp>
#include <tq/numeric/numerics.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

namespace tq::layouts::gguf::detail {

template <class Scale>
struct ScaleCodes {
  using format = typename Scale::format;
};
template <class E, BlockScales Least>
struct ScaleCodes<TwoLevel<E, Least>> {
  using format = typename E::format;
};

// True if `Scale` has the number.
template <class Scale>
[[nodiscard]] bool is_held(float number) noexcept {
  if (!tq::detail::is_finite(number)) return false;
  if constexpr (std::same_as<Scale, float> || SuperBlockScale<Scale>) return true;
  else {
    using Format = typename ScaleCodes<Scale>::format;
    return Format::decode(Format::template encode<NonSaturate>(number)) == number;
  }
}

// The numbers as they are stored. Precondition: `is_held`.
template <class Scale>
[[nodiscard]] Scales<Scale> stored_numbers(std::vector<float> numbers) {
  if constexpr (std::same_as<Scale, float>) {
    return Scales<float>(std::move(numbers));
  } else {
    using Format = typename ScaleCodes<Scale>::format;
    using Stored = typename Scales<Scale>::stored_type;
    std::vector<Stored> codes(numbers.size());
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<Stored>(Format::template encode<NonSaturate>(numbers[i]));
    if constexpr (requires { Scales<Scale>(std::move(codes), 1.0f); })
      return Scales<Scale>(std::move(codes), 1.0f);
    else return Scales<Scale>(std::move(codes));
  }
}

// Floats that become stored numbers together.
template <class Scale>
class NumbersBuilder {
 public:
  void reserve(std::size_t count) { numbers_.reserve(count); }
  void add(float number) { numbers_.push_back(number); }
  [[nodiscard]] Scales<Scale> take() && { return stored_numbers<Scale>(std::move(numbers_)); }

 private:
  std::vector<float> numbers_;
};

// Whole numbers under float16 of super-blocks, as they come from blocks.
template <SuperBlockScale Scale>
class NumbersBuilder<Scale> {
  using Code = typename Scales<Scale>::stored_type;

 public:
  void reserve(std::size_t count) {
    numbers_.resize(count);
    super_scales_.reserve(Scales<Scale>::blocks_of(count));
  }
  // Precondition: d is a value of float16, and the numbers are those of a whole super-block.
  void add(float d, const int* numbers) {
    Code* const to = numbers_.data() + super_scales_.size() * Scale::block;
    for (std::size_t i = 0; i < Scale::block; ++i) to[i] = static_cast<Code>(numbers[i]);
    super_scales_.push_back(static_cast<std::uint16_t>(float16::format::encode(d)));
  }
  [[nodiscard]] Scales<Scale> take() && { return {std::move(numbers_), std::move(super_scales_)}; }

 private:
  std::vector<Code> numbers_;
  std::vector<std::uint16_t> super_scales_;
};

// Scales, and offsets or zero points, of the groups of a tensor in order.
template <AnyParams Params>
class ParamsBuilder {
  using Scale = typename Params::scale_type;
  static constexpr bool has_factors = SuperBlockScale<Scale>;

 public:
  explicit ParamsBuilder(std::size_t count) {
    scales_.reserve(count);
    if (Params::has_offset) offsets_.reserve(count);
    if (Params::has_zero_point) zeros_.reserve(count);
  }
  // Throws: `errc::bad_scale` for a scale that the parameters do not have, which a negative one is
  // beside offsets.
  static void require_scale(float scale, std::size_t block) {
    if (is_held<Scale>(scale) && !(Params::has_offset && scale < 0.0f)) return;
    tq::detail::raise_expected(
        errc::bad_scale, "tq::layouts::gguf::unpack",
        {"finite scales", Params::has_offset ? " that are not negative" : ""},
        {scale, " in block ", block});
  }
  // Throws: `errc::not_finite`.
  static void require_offset(float offset, std::size_t block) {
    if (is_held<Scale>(offset)) return;
    tq::detail::raise_expected(errc::not_finite, "tq::layouts::gguf::unpack", {"finite offsets"},
                               {offset, " in block ", block});
  }
  void add(float scale, float offset, std::int32_t zero) {
    if constexpr (!has_factors) {
      scales_.add(scale);
      if (Params::has_offset) offsets_.add(offset);
    }
    if (Params::has_zero_point) zeros_.push_back(zero);
  }
  // The scales and offsets of a block, as magnitudes under a d that is not negative; a scale of 0
  // becomes the number 1, and d = 0 becomes 1, so that scales are positive. Changes the factors.
  void add_factors(auto& factors)
    requires has_factors
  {
    const bool is_nothing = factors.d == 0.0f;
    for (int& number : factors.scales) number = is_nothing || number == 0 ? 1 : std::abs(number);
    scales_.add(is_nothing ? 1.0f : std::fabs(factors.d), factors.scales);
    if constexpr (Params::has_offset) offsets_.add(-factors.dmin, factors.minimums);
  }
  [[nodiscard]] Params take() && {
    auto scales = std::move(scales_).take();
    if constexpr (Params::has_offset && has_factors)  // each of which was checked
      return Params(tq::detail::ValidParts{}, {}, std::move(scales), std::move(offsets_).take());
    else if constexpr (Params::has_offset)
      return Params({}, std::move(scales), std::move(offsets_).take());
    else if constexpr (Params::has_zero_point) return Params({}, std::move(scales), zeros_);
    else return Params({}, std::move(scales));
  }

 private:
  NumbersBuilder<Scale> scales_, offsets_;
  std::vector<std::int32_t> zeros_;
};

}  // namespace tq::layouts::gguf::detail
