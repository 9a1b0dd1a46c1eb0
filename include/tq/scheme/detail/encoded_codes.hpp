// SPDX-License-Identifier: MIT
#pragma once
// The codes of encoded tensors, packed and a byte each.

#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tq::detail {

// Calls f(code_type{}) for the type that codes of at most 8 bits have in memory, and returns what
// it returns.
template <class F>
decltype(auto) with_small_code(const EncodedLayout& layout, F&& f) {
  return layout.type.min < 0 ? f(std::int8_t{}) : f(std::uint8_t{});
}

// `pack` and `unpack` of `LowFirst` for a width that is not in a type.
template <Backend B>
void pack_codes(std::span<const std::byte> codes, std::span<std::byte> out,
                const EncodedLayout& layout) {
  with_small_code(layout, [&]<class Code>(Code) {
    B::template bit_pack<Code>::pack(reinterpret_cast<const Code*>(codes.data()),
                                     reinterpret_cast<unsigned char*>(out.data()), codes.size(),
                                     layout.bits, true);
  });
}
template <Backend B>
void unpack_codes(std::span<const std::byte> bytes, std::span<std::byte> out,
                  const EncodedLayout& layout) {
  with_small_code(layout, [&]<class Code>(Code) {
    B::template bit_pack<Code>::unpack(reinterpret_cast<const unsigned char*>(bytes.data()),
                                       reinterpret_cast<Code*>(out.data()), out.size(), layout.bits,
                                       true);
  });
}

// Throws for a code that the symmetry does not use.
inline void require_codes(std::span<const std::byte> codes, const EncodedTensor& t,
                          const EncodedLayout& layout) {
  const auto check = [&]<class Code>(Code) {
    for (std::size_t i = 0; i < codes.size(); i += sizeof(Code)) {
      Code code;
      std::memcpy(&code, codes.data() + i, sizeof(Code));
      if (code < layout.codes.min || code > layout.codes.max)
        raise_expected(
            errc::bad_argument, "tq::decode",
            {"codes in [", layout.codes.min, ", ", layout.codes.max, "] for ", to_string(t.spec)},
            {code});
    }
  };
  if (layout.codes == layout.type) return;
  if (layout.bits <= 8) with_small_code(layout, check);
  else if (layout.type.min < 0) check(std::int16_t{});
  else check(std::uint16_t{});
}

}  // namespace tq::detail
