// SPDX-License-Identifier: MIT
#pragma once
// A check of packed codes for those that their symmetry does not use.

#include <tq/core/buffer.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/detail/encoded_codes.hpp>
#include <tq/scheme/encoded_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tq::store::detail {

// Throws: `errc::bad_argument` for a code that the symmetry of `tensor` does not use, as `decode`.
// Precondition: `codes` has the size that `layout` says.
template <Backend B = default_backend>
void require_used_codes(std::span<const std::byte> codes, const EncodedTensor& tensor,
                        const EncodedLayout& layout) {
  if (layout.codes == layout.type) return;
  if (layout.bits >= 8) return tq::detail::require_codes(codes, tensor, layout);
  constexpr std::size_t piece = 1 << 14;  // whole bytes for every width
  Buffer<std::byte> unpacked(std::min(piece, tensor.shape.size()));
  for (std::size_t first = 0; first < tensor.shape.size(); first += piece) {
    const auto some = unpacked.span().first(std::min(piece, tensor.shape.size() - first));
    const auto width = static_cast<std::size_t>(layout.bits);
    tq::detail::unpack_codes<B>(codes.subspan(first * width / 8, (some.size() * width + 7) / 8),
                                some, layout);
    tq::detail::require_codes(some, tensor, layout);
  }
}

}  // namespace tq::store::detail
