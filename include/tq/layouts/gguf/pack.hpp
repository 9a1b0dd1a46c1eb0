// SPDX-License-Identifier: MIT
#pragma once
// pack: quantized tensors as blocks of GGUF files.

#include <tq/core/buffer.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/error.hpp>
#include <tq/layouts/gguf/detail/block_fields.hpp>
#include <tq/layouts/gguf/detail/held_groups.hpp>
#include <tq/layouts/gguf/detail/whole_factors.hpp>
#include <tq/layouts/gguf/params_of.hpp>
#include <tq/layouts/gguf/unpack.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tq::layouts::gguf {

namespace detail {

inline constexpr const char* pack_function = "tq::layouts::gguf::pack";

template <Unpackable B>
[[noreturn]] void refuse_group(std::size_t parameter, std::int32_t zero) {
  using tq::detail::raise_expected;
  if constexpr (holds_values<B>)
    raise_expected(errc::bad_argument, pack_function,
                   {"codes that are all values of IQ4_NL, or all negated values"},
                   {"others at parameter ", parameter});
  if constexpr (params_of<B>::has_zero_point && !holds_values<B>)
    if (zero != held_zeros<B>[0] && zero != held_zeros<B>[1])
      raise_expected(errc::bad_zero_point, pack_function,
                     {"zero points of ", held_zeros<B>[0], ", or of ", held_zeros<B>[1],
                      " for negative scales"},
                     {zero, " at parameter ", parameter});
  raise_expected(errc::bad_argument, pack_function, {"codes of the format"},
                 {"others at parameter ", parameter});
}
[[noreturn]] inline void refuse_block(const char* expected, std::size_t block) {
  tq::detail::raise_expected(errc::bad_scale, pack_function, {expected},
                             {"others in block ", block});
}

// The fields of block b: `held` codes, and parameters of the type `Params`.
template <Unpackable B, class Params>
void restore_fields(const Params& params, std::span<const code_of<B>> held, std::size_t b,
                    BlockFields<B>& f) {
  constexpr bool has_factors = SuperBlockScale<typename Params::scale_type>;
  constexpr std::size_t groups = BlockFields<B>::groups, group = BlockFields<B>::group;
  if constexpr (has_factors) load_held_factors<B>(params, b, f);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t at = b * groups + g;
    std::int32_t zero = 0;
    if constexpr (Params::has_zero_point) zero = params.zero_points()[at];
    if constexpr (Params::has_offset) f.offsets[g] = params.offsets()[at];
    f.scales[g] = params.scales()[at];
    if (f.scales[g] != f.scales[g]) refuse_block("scales of numbers", b);
    bool is_least = f.scales[g] == 1.0f;
    if constexpr (has_factors) is_least = f.factors.scales[g] == 1;
    if (!restore_group<B>(held.subspan(g * group, group), zero, is_least, f, g))
      refuse_group<B>(at, zero);
  }
  if constexpr (has_factors) {
    if (!sign_held_factors(f)) refuse_block("scales whose whole numbers the format has", b);
  } else if constexpr (SuperBlocked<B>) {
    if (!find_block_factors(f))
      refuse_block("scales that are products of a float16 and whole numbers", b);
  }
}

template <Unpackable B, Backend Ops, class Params, class Pack>
[[nodiscard]] std::vector<std::uint8_t> pack_as(const QuantizedTensor<Params, Pack>& tensor) {
  const Params& params = tensor.params();
  const std::size_t count = block_count<B>(pack_function, tensor.shape());
  if constexpr (requires { params.stored_scales().tensor_scale(); })
    if (params.stored_scales().tensor_scale() != 1.0f)
      tq::detail::raise_expected(errc::bad_scale, pack_function, {"a tensor scale of 1"},
                                 {params.stored_scales().tensor_scale()});
  Buffer<code_of<B>> codes(tensor.size());
  unpack_unchecked<typename Params::type, Pack, Ops>(tensor.bytes(), codes.span());
  std::vector<std::uint8_t> blocks(count * B::bytes);
  for (std::size_t b = 0; b < count; ++b) {
    BlockFields<B> fields;
    restore_fields<B>(params, {codes.data() + b * B::elements, B::elements}, b, fields);
    store_fields(fields, blocks.data() + b * B::bytes);
  }
  return blocks;
}

}  // namespace detail

/// The blocks of a tensor [..., n], n in whole blocks. `pack(unpack(blocks))` has the values of
/// `blocks`, and their bytes but for these:
///
/// - Codes under a scale of 0 become codes of the value 0, and the sign of that scale is lost. In a
///   super-block the number 1 becomes 0 where all codes under it have the value 0.
/// - In super-blocks with signed scales (Q3_K, Q6_K, IQ4_XS) the first number of the largest
///   magnitude becomes negative, as the quantizers of ggml and of tq choose it: where it is
///   positive, d and all numbers change their signs.
/// - Blocks of Q1_0 with a negative scale change its sign and those of all codes; bytes of TQ1_0 that
///   no five codes are packed to become those of the codes that they stand for.
/// - A super-block of zeros under d = 1 gets d = 0, and d = 0 has the numbers 0.
///
/// Throws: `errc::shape_mismatch` for rows that are no whole blocks; `errc::bad_zero_point` for
/// other zero points than that of the format and its mirror image; `errc::bad_scale` for scales
/// whose whole numbers the format does not have (beyond -32 to 31 of Q3_K and IQ4_XS, -128 to 127
/// of Q6_K), that are NaN (MXFP4), or under another tensor scale than 1 (NVFP4);
/// `errc::bad_argument` for codes that the format does not have.
template <Unpackable B, PackingFor<typename params_of<B>::type> Pack, Backend Ops = default_backend>
[[nodiscard]] std::vector<std::uint8_t> pack(const QuantizedTensor<params_of<B>, Pack>& tensor) {
  return detail::pack_as<B, Ops>(tensor);
}
/// The same of super-blocks with scales, and offsets, of float32. The largest whole numbers that
/// scales have under a float16 are stored, a negative one first.
/// Throws: as above; `errc::bad_scale` for scales that are no products of a float16 and such
/// numbers.
template <SuperBlocked B, PackingFor<typename params_of<B>::type> Pack,
          Backend Ops = default_backend>
[[nodiscard]] std::vector<std::uint8_t> pack(
    const QuantizedTensor<float_params_of<B>, Pack>& tensor) {
  return detail::pack_as<B, Ops>(tensor);
}

}  // namespace tq::layouts::gguf
