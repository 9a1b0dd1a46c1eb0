// SPDX-License-Identifier: MIT
#pragma once
// pack: quantized tensors as blocks of GGUF files.

#include <tq/core/buffer.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/error.hpp>
#include <tq/layouts/gguf/detail/block_fields.hpp>
#include <tq/layouts/gguf/detail/held_groups.hpp>
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

}  // namespace detail

/// The blocks of a tensor [..., n], n in whole blocks. `pack(unpack(blocks))` has the values of
/// `blocks`, and their bytes with two exceptions: codes under a scale of 0 become codes of the
/// value 0, and scales of K-quants and IQ4_XS get the largest whole factors that they have. Throws:
/// `errc::shape_mismatch` for rows that are no whole blocks; `errc::bad_zero_point` for other zero
/// points than that of the format and its mirror image; `errc::bad_scale` for scales that are no
/// products of a float16 and whole numbers (K-quants, IQ4_XS), that are NaN (MXFP4), or under
/// another tensor scale than 1 (NVFP4); `errc::bad_argument` for codes that the format does not
/// have.
template <Unpackable B, PackingFor<typename params_of<B>::type> Pack, Backend Ops = default_backend>
[[nodiscard]] std::vector<std::uint8_t> pack(const QuantizedTensor<params_of<B>, Pack>& tensor) {
  using Params = params_of<B>;
  using Fields = detail::BlockFields<B>;
  const Params& params = tensor.params();
  const std::size_t count = detail::block_count<B>(detail::pack_function, tensor.shape());
  if constexpr (requires { params.stored_scales().tensor_scale(); })
    if (params.stored_scales().tensor_scale() != 1.0f)
      tq::detail::raise_expected(errc::bad_scale, detail::pack_function, {"a tensor scale of 1"},
                                 {params.stored_scales().tensor_scale()});
  Buffer<detail::code_of<B>> codes(tensor.size());
  unpack_unchecked<typename Params::type, Pack, Ops>(tensor.bytes(), codes.span());
  std::vector<std::uint8_t> blocks(count * B::bytes);
  for (std::size_t b = 0; b < count; ++b) {
    Fields fields;
    for (std::size_t g = 0; g < Fields::groups; ++g) {
      const std::size_t at = b * Fields::groups + g;
      std::int32_t zero = 0;
      if constexpr (Params::has_zero_point) zero = params.zero_points()[at];
      if constexpr (Params::has_offset) fields.offsets[g] = params.offsets()[at];
      fields.scales[g] = params.scales()[at];
      if (fields.scales[g] != fields.scales[g]) detail::refuse_block("scales of numbers", b);
      const std::span held(codes.data() + at * Fields::group, Fields::group);
      if (!detail::restore_group<B>(held, zero, fields, g)) detail::refuse_group<B>(at, zero);
    }
    if (!detail::store_fields(fields, blocks.data() + b * B::bytes))
      detail::refuse_block("scales that are products of a float16 and whole numbers", b);
  }
  return blocks;
}

}  // namespace tq::layouts::gguf
