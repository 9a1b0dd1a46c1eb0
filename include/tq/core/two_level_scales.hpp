// SPDX-License-Identifier: MIT
#pragma once
// Scales<TwoLevel<...>>: small block scales under a float32 scale of the tensor.

#include <tq/core/affine_for.hpp>
#include <tq/core/detail/block_reach.hpp>
#include <tq/core/detail/decoded_view.hpp>
#include <tq/core/detail/scale_fit.hpp>
#include <tq/core/detail/scale_limits.hpp>
#include <tq/core/element.hpp>
#include <tq/core/plain_scales.hpp>
#include <tq/core/scale_kinds.hpp>
#include <tq/error.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// Small block scales under a float32 scale of the tensor.
template <CodedElement E, BlockScales Least>
class Scales<TwoLevel<E, Least>> {
 public:
  using stored_type = typename E::code_type;
  /// Throws: `errc::bad_scale` unless `tensor_scale` is positive and finite.
  Scales(std::vector<stored_type> codes, float tensor_scale)
      : stored_(std::move(codes)), tensor_scale_(tensor_scale) {
    require_tensor_scale("tq::Scales", tensor_scale);
  }

  /// tensor_scale = max|x| / (max_finite(E) * max_finite(T)), and the block scales under it.
  template <Element T, class S, NumericsPolicy N, class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges) {
    return fit<Encode>(ranges, scale_fit<T, S, N>);
  }
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges, const ScaleFit& how) {
    return under<Encode>(how.reach, tensor_scale_of(how.reach, ranges, how.rules), ranges,
                         how.rules);
  }
  /// The tensor scale of a tensor of blocks with these ranges.
  template <Element T, class S>
  [[nodiscard]] static float tensor_scale_of(
      std::span<const Range> ranges,
      const ScaleRules& rules = scale_rules<T, S, Numerics<>>) noexcept {
    return tensor_scale_of(detail::reach_of<T, S>, ranges, rules);
  }
  [[nodiscard]] static float tensor_scale_of(detail::CodeReach code, std::span<const Range> ranges,
                                             const ScaleRules& rules) noexcept {
    double most = 0;
    for (const Range r : ranges) most = std::max(most, code.of(r));
    return tensor_scale_for(code, most, rules);
  }
  /// The tensor scale of a tensor whose blocks reach `most`: 1 where there is nothing that could be
  /// scaled, and not so large that the code of `most` would decode to an infinity.
  template <Element T, class S>
  [[nodiscard]] static float tensor_scale_for(
      double most, const ScaleRules& rules = scale_rules<T, S, Numerics<>>) noexcept {
    return tensor_scale_for(detail::reach_of<T, S>, most, rules);
  }
  [[nodiscard]] static float tensor_scale_for(detail::CodeReach code, double most,
                                              const ScaleRules& rules) noexcept {
    const float top = code.top, safe = rules.safe;
    // With a zero point the codes lie on both sides of 0.
    const float largest = code.both_sides ? detail::largest_scale_for((top + 1) / 2) : safe;
    auto tensor = static_cast<float>(most / (double(E::format::max_finite) * double(top)));
    if (!(E::format::max_finite * tensor >= rules.least)) return 1.0f;
    const auto is_too_large = [&](float scale) {
      return scale > largest || (scale > safe && double(scale) * double(top) > most);
    };
    while (is_too_large(E::format::max_finite * tensor)) tensor = detail::float_below(tensor);
    return tensor;
  }

  /// Block scales under a given tensor scale (1 where there is none): max|block| / max_finite(T) /
  /// tensor_scale, rounded to E between the least and the largest block scale. Integers have no
  /// scale of 0; where no code means 0, what is nearer to 0 than to the least has it.
  template <Element T, class S, class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales under(float tensor_scale, std::span<const Range> ranges,
                                    const ScaleRules& rules = scale_rules<T, S, Numerics<>>) {
    return under<Encode>(detail::reach_of<T, S>, tensor_scale, ranges, rules);
  }
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales under(detail::CodeReach code, float tensor_scale,
                                    std::span<const Range> ranges, const ScaleRules& rules) {
    const float least = Least == BlockScales::normal ? E::format::smallest_normal
                        : !rules.may_vanish          ? E::format::smallest_subnormal
                                                     : 0.0f;
    std::vector<stored_type> codes(ranges.size());
    detail::for_each_stretch(ranges, [&](std::size_t first, std::span<const Range> some) {
      float blocks[detail::stretch];
      for (std::size_t i = 0; i < some.size(); ++i) {
        const float block = code.scale(some[i]) / tensor_scale;
        const bool is_nothing = !rules.has_zero && rules.may_vanish && !(block > least / 2);
        blocks[i] = is_nothing ? 0.0f : std::clamp(block, least, E::format::max_finite);
      }
      const std::span<stored_type> to = std::span(codes).subspan(first, some.size());
      Encode::template codes<E>({blocks, some.size()}, to);
      detail::keep_rules<typename E::format>(to, some, rules,
                                             [&](float block) { return block * tensor_scale; });
    });
    return Scales(std::move(codes), tensor_scale);
  }

  [[nodiscard]] auto values() const noexcept {
    return DecodedView(Decode{stored_.data(), tensor_scale_}, stored_.size());
  }
  [[nodiscard]] std::span<const stored_type> stored() const noexcept { return stored_; }
  [[nodiscard]] float tensor_scale() const noexcept { return tensor_scale_; }
  /// Throws: `errc::bad_scale` unless `tensor_scale` is positive and finite.
  static void require_tensor_scale(const char* who, float tensor_scale) {
    if (!(tensor_scale > 0) || !detail::is_finite(tensor_scale))
      detail::raise_expected(errc::bad_scale, who, {"a positive finite tensor scale"},
                             {tensor_scale});
  }
  friend bool operator==(const Scales&, const Scales&) = default;

 private:
  struct Decode {
    const stored_type* codes = nullptr;
    float tensor_scale = 1.0f;
    float operator()(std::size_t i) const noexcept {
      return detail::uncontracted(detail::value_of<typename E::format>(codes[i]) * tensor_scale);
    }
  };
  std::vector<stored_type> stored_;
  float tensor_scale_;
};

}  // namespace tq
