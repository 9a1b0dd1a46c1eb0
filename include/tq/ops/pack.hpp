// SPDX-License-Identifier: MIT
#pragma once
// pack and unpack: codes, one per code_type, to dense bits and back.

#include <tq/core/packing.hpp>
#include <tq/ops/parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace tq {

/// Packs codes of element `Type`. Bits above `Type::bits` are dropped.
/// Precondition: `out` has `Pack::bytes_for<Type>(codes.size())` bytes.
template <IntegerElement Type, Packing Pack = LowFirst, Backend B = default_backend>
void pack_unchecked(std::span<const typename Type::code_type> codes, std::span<std::byte> out) noexcept {
  if constexpr (is_unpacked<Pack, Type>) {
    if (!codes.empty()) std::memcpy(out.data(), codes.data(), out.size());
  } else {
    B::template bit_pack<typename Type::code_type>::pack(codes.data(), reinterpret_cast<unsigned char*>(out.data()),
                                                         codes.size(), Type::bits,
                                                         Pack::order == BitOrder::low_first);
  }
}

/// Packs codes of element `Type`. Bits above `Type::bits` are dropped.
/// Throws: `errc::shape_mismatch` unless `out` has `Pack::bytes_for<Type>(codes.size())` bytes.
template <IntegerElement Type, Packing Pack = LowFirst, Backend B = default_backend>
void pack(std::span<const typename Type::code_type> codes, std::span<std::byte> out) {
  detail::require_size("tq::pack", "bytes", Pack::template bytes_for<Type>(codes.size()), out.size());
  pack_unchecked<Type, Pack, B>(codes, out);
}

/// Unpacks codes of element `Type`, sign-extended. Where a code fills more bits than the type has, it is
/// copied as it is.
/// Precondition: `bytes` has `Pack::bytes_for<Type>(out.size())` bytes.
template <IntegerElement Type, Packing Pack = LowFirst, Backend B = default_backend>
void unpack_unchecked(std::span<const std::byte> bytes, std::span<typename Type::code_type> out) noexcept {
  if constexpr (is_unpacked<Pack, Type>) {
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  } else {
    B::template bit_pack<typename Type::code_type>::unpack(reinterpret_cast<const unsigned char*>(bytes.data()),
                                                           out.data(), out.size(), Type::bits,
                                                           Pack::order == BitOrder::low_first);
  }
}

/// Unpacks codes of element `Type`, sign-extended.
/// Throws: `errc::shape_mismatch` unless `bytes` has `Pack::bytes_for<Type>(out.size())` bytes;
/// `errc::bad_argument` when an unpacked code is not one of the type's. Nothing is written then.
template <IntegerElement Type, Packing Pack = LowFirst, Backend B = default_backend>
void unpack(std::span<const std::byte> bytes, std::span<typename Type::code_type> out) {
  detail::require_size("tq::unpack", "bytes", Pack::template bytes_for<Type>(out.size()), bytes.size());
  if constexpr (is_unpacked<Pack, Type>) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      typename Type::code_type code;
      std::memcpy(&code, bytes.data() + i * sizeof(code), sizeof(code));
      if (code < Type::qmin || code > Type::qmax)
        raise(errc::bad_argument, "tq::unpack: expected codes in [" + std::to_string(Type::qmin) + ", " +
                                      std::to_string(Type::qmax) + "], got " + std::to_string(code) +
                                      " at element " + std::to_string(i));
    }
  }
  unpack_unchecked<Type, Pack, B>(bytes, out);
}

}  // namespace tq
