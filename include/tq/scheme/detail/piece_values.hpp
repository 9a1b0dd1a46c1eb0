// SPDX-License-Identifier: MIT
#pragma once
// The values of encoded tensors, piece by piece.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/shape.hpp>
#include <tq/driver/kernel.hpp>
#include <tq/driver/operands.hpp>
#include <tq/driver/span.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/detail/encoded_codes.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tq::detail {

// Codes that have a byte each at a time: they stay in the cache. A multiple of 8, so that packed
// pieces begin on bytes.
inline constexpr std::size_t packed_at_once = std::size_t{1} << 16;

// A dense tensor as its pieces are swept: `params` are those of all of it, and `streams` says that
// values go past the cache.
struct SweptTensor {
  const Shape& shape;
  const Shape& block;
  const driver::Parameters& params;
  bool streams = false;

  // Calls f(run, span, parameters) for the runs of the elements [first, first + count).
  template <class F>
  void each_run(std::size_t first, std::size_t count, F&& f) const {
    driver::Parameters own = params;
    for_each_run_between(shape, block, first, first + count, [&](const Run& r) {
      own.first = r.param;
      own.row_step = r.param_stride;
      own.group = r.step == 1 ? 1 : driver::whole_row;
      f(r, driver::Span{r.length, r.count, r.source_stride, r.target_stride}, own);
    });
  }

  // Writes the values of the elements from number `first` on, whose codes have whole bytes each.
  void to_values(const driver::BoundKernel& dequantize, std::size_t first, const std::byte* codes,
                 std::span<float> out) const {
    const auto begin = static_cast<std::ptrdiff_t>(first);
    each_run(first, out.size(),
             [&](const Run& r, const driver::Span& span, const driver::Parameters& own) {
               driver::sweep(dequantize,
                             {.source = codes,
                              .first = r.source - begin,
                              .target = out.data() + (r.target - begin),
                              .streams = streams},
                             span, own);
             });
  }
};

// The codes of a packed tensor in pieces of `packed_at_once`.
template <Backend B>
class PackedPieces {
 public:
  PackedPieces(const EncodedTensor& tensor, const EncodedLayout& layout) noexcept
      : tensor_(tensor), layout_(layout) {}

  [[nodiscard]] std::size_t size() const noexcept {
    return units_for(tensor_.shape.size(), packed_at_once);
  }
  // The first element of piece i, and how many it has.
  [[nodiscard]] std::size_t first(std::size_t i) const noexcept { return i * packed_at_once; }
  [[nodiscard]] std::size_t count(std::size_t i) const noexcept {
    return std::min(packed_at_once, tensor_.shape.size() - first(i));
  }
  // The codes of piece i, a byte each.
  [[nodiscard]] Buffer<std::byte> unpacked(std::size_t i) const {
    const auto bits = static_cast<std::size_t>(layout_.bits);
    Buffer<std::byte> out(count(i));
    unpack_codes<B>(
        tensor_.codes.span().subspan(first(i) / 8 * bits, units_for(count(i) * bits, 8)),
        out.span(), layout_);
    return out;
  }

 private:
  const EncodedTensor& tensor_;
  const EncodedLayout& layout_;
};

// Writes the values of a tensor whose codes are packed. Throws, before anything is written, for a
// code that the symmetry does not use.
template <Backend B, Executor E>
void packed_to_values(const EncodedTensor& tensor, const EncodedLayout& layout,
                      const SweptTensor& swept, const driver::BoundKernel& dequantize,
                      std::span<float> out, const E& executor) {
  const PackedPieces<B> pieces(tensor, layout);
  if (layout.codes != layout.type)
    for (std::size_t i = 0; i < pieces.size(); ++i)
      require_codes(pieces.unpacked(i).span(), tensor, layout);
  executor(pieces.size(), [&](std::size_t i) {
    const Buffer<std::byte> codes = pieces.unpacked(i);
    swept.to_values(dequantize, pieces.first(i), codes.data(),
                    out.subspan(pieces.first(i), pieces.count(i)));
  });
}

}  // namespace tq::detail
