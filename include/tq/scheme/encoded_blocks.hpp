// SPDX-License-Identifier: MIT
#pragma once
// encoded_blocks and blocks_of: blocks of GGUF files as encoded tensors, and back.

#include <tq/core/element_lists.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/pack.hpp>
#include <tq/layouts/gguf/params_of.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/layouts/gguf/unpack.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/encoded_conversion.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/type_list.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

// The parameters of encoded tensors that hold blocks of B: `params_of<B>`, but with scales of
// float32 in place of super-blocks that are not in the list.
template <class B, class ScaleTypes>
struct encoded_params {
  using type = layouts::gguf::params_of<B>;
};
template <layouts::gguf::SuperBlocked B, class ScaleTypes>
  requires(!has_name(ScaleTypes{}, name_of<typename layouts::gguf::params_of<B>::scale_type>) &&
           has_name(ScaleTypes{}, name_of<float>))
struct encoded_params<B, ScaleTypes> {
  using type = layouts::gguf::float_params_of<B>;
};

// Calls f.template operator()<B, Params>() for the format of that type whose parameters are of the
// listed types. Throws: `errc::unsupported`.
template <class Types, class ScaleTypes, class F>
void with_unpackable(const char* function, layouts::gguf::Type type, F&& f) {
  bool is_listed = false;
  layouts::gguf::detail::Blocks::visit(type, [&]<class B>(std::type_identity<B>) {
    if constexpr (layouts::gguf::Unpackable<B>) {
      using Params = typename encoded_params<B, ScaleTypes>::type;
      if constexpr (has_name(Types{}, name_of<typename Params::type>) &&
                    has_name(ScaleTypes{}, name_of<typename Params::scale_type>)) {
        is_listed = true;
        f.template operator()<B, Params>();
      }
    }
  });
  if (!is_listed)
    raise_expected(errc::unsupported, function,
                   {"a type whose codes and scales are of types that are known here"},
                   {layouts::gguf::info_of(type).name});
}

}  // namespace detail

/// The scheme that blocks of a type are held in, or nothing for types that tensors do not hold
/// (Q8_1, Q8_K, IQ1 to IQ3) and types without blocks. K-quants and IQ4_XS have the scales of their
/// super-blocks, as `SuperBlock<uint6, 8>`, where the list has them, else scales of float32.
template <class ScaleTypes = all_scales>
[[nodiscard]] inline std::optional<QuantSpec> block_spec(layouts::gguf::Type type) {
  std::optional<QuantSpec> spec;
  layouts::gguf::detail::Blocks::visit(type, [&]<class B>(std::type_identity<B>) {
    if constexpr (layouts::gguf::Unpackable<B>)
      spec = spec_of<typename detail::encoded_params<B, ScaleTypes>::type>();
  });
  return spec;
}

/// The tensor of `shape` that blocks of a type hold, its last axis in whole blocks: of the scheme
/// `block_spec<ScaleTypes>(type)`, with the values of the blocks (`layouts::gguf::unpack`).
/// Throws: `errc::unsupported` for types without a scheme, and for schemes of types that are not
/// listed; as `unpack`.
template <class Types = all_elements, class ScaleTypes = all_scales, Backend B = default_backend>
[[nodiscard]] EncodedTensor encoded_blocks(layouts::gguf::Type type,
                                           std::span<const std::uint8_t> blocks,
                                           const Shape& shape) {
  EncodedTensor out;
  detail::with_unpackable<Types, ScaleTypes>(
      "tq::encoded_blocks", type, [&]<class Format, class Params>() {
        out = to_encoded(layouts::gguf::detail::unpack_as<Params, Format, B>(blocks, shape));
      });
  return out;
}

/// The blocks of a type that hold `tensor`, which is of the scheme `block_spec<ScaleTypes>(type)`.
/// Throws: `errc::unsupported` as `encoded_blocks`; `errc::bad_argument` for another scheme; as
/// `layouts::gguf::pack` for codes and parameters that no block has.
template <class Types = all_elements, class ScaleTypes = all_scales, Backend B = default_backend>
[[nodiscard]] std::vector<std::uint8_t> blocks_of(layouts::gguf::Type type, EncodedTensor tensor) {
  std::vector<std::uint8_t> out;
  detail::with_unpackable<Types, ScaleTypes>(
      "tq::blocks_of", type, [&]<class Format, class Params>() {
        out = layouts::gguf::pack<Format, LowFirst, B>(to_quantized<Params>(std::move(tensor)));
      });
  return out;
}

}  // namespace tq
