// SPDX-License-Identifier: MIT
#pragma once
// The parameters of unpacked blocks, of numbers that their scale types hold exactly.

#include <tq/core/element.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scales.hpp>
#include <tq/error.hpp>
#include <tq/numeric/numerics.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
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
  if constexpr (std::same_as<Scale, float>) return true;
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

// Scales, and offsets or zero points, of the groups of a tensor in order.
template <AnyParams Params>
class ParamsBuilder {
  using Scale = typename Params::scale_type;

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
    scales_.push_back(scale);
    if (Params::has_offset) offsets_.push_back(offset);
    if (Params::has_zero_point) zeros_.push_back(zero);
  }
  [[nodiscard]] Params take() && {
    auto scales = stored_numbers<Scale>(std::move(scales_));
    if constexpr (Params::has_offset)
      return Params({}, std::move(scales), stored_numbers<Scale>(std::move(offsets_)));
    else if constexpr (Params::has_zero_point) return Params({}, std::move(scales), zeros_);
    else return Params({}, std::move(scales));
  }

 private:
  std::vector<float> scales_, offsets_;
  std::vector<std::int32_t> zeros_;
};

}  // namespace tq::layouts::gguf::detail
