// SPDX-License-Identifier: MIT
#pragma once
// PieceCoder: encode and decode, piece by piece, in memory that is kept from tensor to tensor.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/core/real_tensor.hpp>
#include <tq/error.hpp>
#include <tq/observe/detail/slot_window.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/block_ranges.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/code_kernels.hpp>
#include <tq/scheme/detail/params_fit.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/stored_parameters.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

// The smallest and the largest finite value of a block: an accumulator of the size of a range.
class BlockRange {
 public:
  template <Backend B>
  void add(std::span<const float> x) noexcept {
    merge(B::min_max::run(x.data(), x.size()));
  }
  template <Backend B>
  static void add_columns(std::span<BlockRange> accumulators, const float* x, std::size_t rows,
                          std::ptrdiff_t stride) {
    std::vector<kernels::Extremes> seen(accumulators.size());
    B::min_max::columns(x, rows, accumulators.size(), stride, seen.data());
    for (std::size_t i = 0; i < accumulators.size(); ++i) accumulators[i].merge(seen[i]);
  }
  // That of a block of zeros where nothing finite was seen. No end is -0.
  [[nodiscard]] Range range() const noexcept {
    return min_ <= max_ ? Range{min_ + 0.0f, max_ + 0.0f} : Range{};
  }

 private:
  void merge(const kernels::Extremes& e) noexcept {
    min_ = std::min(min_, e.min);
    max_ = std::max(max_, e.max);
  }
  float min_ = std::numeric_limits<float>::infinity();
  float max_ = -std::numeric_limits<float>::infinity();
};

}  // namespace detail

/// `encode` and `decode` of tensors that come in pieces, because they are larger than the cache or
/// than memory; the same bits. A piece is a stretch of a tensor's elements, row-major, that begins
/// at a multiple of 8. Memory is kept from tensor to tensor; beside the parameters it is that of a
/// piece.
///
///     coder.start(spec, shape);
///     for (...) coder.observe(first, values);        // every element once
///     coder.fit();
///     for (...) coder.encode(first, values, codes);  // any piece, any number of times
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend>
class PieceCoder {
 public:
  /// Begins with another tensor. Throws: as `encoded_layout`.
  void start(const QuantSpec& spec, const Shape& shape);

  /// Looks at the elements from number `first` on. Throws: `errc::bad_argument` for what is no
  /// piece.
  void observe(std::size_t first, std::span<const float> x);
  /// The same of float16, bfloat16, float64 and others, for their values as float32.
  template <OtherRealTensor X>
  void observe(std::size_t first, const X& x) {
    observe_piece(first, std::span<const real_of<X>>(x));
  }
  /// Makes the parameters for what was observed. Throws: as `encode`.
  void fit(NonFinite non_finite = NonFinite::error);
  /// Takes parameters from a file, after a check. Throws: as `set_parameters` and `decode`.
  void restore(StoredParameters stored);

  /// Writes the codes of a piece, packed. Throws: `errc::bad_argument` for what is no piece;
  /// `errc::shape_mismatch` unless `codes` has `code_bytes(x.size())`.
  void encode(std::size_t first, std::span<const float> x, std::span<std::byte> codes);
  template <OtherRealTensor X>
  void encode(std::size_t first, const X& x, std::span<std::byte> codes) {
    encode_piece(first, std::span<const real_of<X>>(x), codes);
  }
  /// Writes the values of a piece. Throws: as `encode`; `errc::bad_argument` for a code the
  /// symmetry does not use.
  void decode(std::size_t first, std::span<const std::byte> codes, std::span<float> out);

  /// Bytes of so many codes.
  [[nodiscard]] std::size_t code_bytes(std::size_t count) const noexcept {
    return detail::units_for(detail::product_or_most(count, static_cast<std::size_t>(layout_.bits)),
                             8);
  }
  [[nodiscard]] const EncodedLayout& layout() const noexcept { return layout_; }
  /// The tensor without its codes.
  [[nodiscard]] const EncodedTensor& parameters() const noexcept { return tensor_; }

 private:
  template <Real T>
  void observe_piece(std::size_t first, std::span<const T> x);
  template <Real T>
  void encode_piece(std::size_t first, std::span<const T> x, std::span<std::byte> codes);
  void require_piece(const char* function, std::size_t first, std::size_t count) const;
  // Adds the elements of a piece to the slots of their blocks.
  template <class Acc, Real T>
  void add_to(std::vector<Acc>& accumulators, std::size_t first, std::span<const T> x) const;
  // Calls f(run, span, parameters) for the runs of a piece.
  template <class F>
  void sweep_piece(std::size_t first, std::size_t count, F&& f) const;
  // Memory for the codes of a piece, one each.
  [[nodiscard]] std::span<std::byte> unpacked(std::size_t count);

  EncodedTensor tensor_;
  EncodedLayout layout_;
  Shape block_;
  detail::HeldOperation quantize_, dequantize_;
  std::vector<detail::BlockRange> seen_;
  std::vector<MeanAbs> means_;  // where scales are made of means
  std::vector<Range> ranges_;
  std::uint64_t nan_ = 0, infinite_ = 0;
  Buffer<std::byte> unpacked_;
};

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::start(const QuantSpec& spec, const Shape& shape) {
  if (!quantize_.exists() || !(spec == tensor_.spec) || !(shape == tensor_.shape)) {
    quantize_ = {};
    layout_ = encoded_layout<Types, ScaleTypes>(spec, shape);
    block_ = AnyGranularity(spec).block(shape);
    dequantize_ = detail::dequantize_kernel_of<Types, B>(spec);
    tensor_.spec = spec;
    tensor_.shape = shape;
    quantize_ = detail::quantize_kernel_of<Types, B>(spec, layout_.codes);
  }
  tensor_.scales = {};
  tensor_.zero_points = {};
  tensor_.offsets = {};
  seen_.clear();
  means_.clear();
  nan_ = infinite_ = 0;
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::observe(std::size_t first, std::span<const float> x) {
  observe_piece(first, x);
}

template <class Types, class ScaleTypes, Backend B>
template <Real T>
void PieceCoder<Types, ScaleTypes, B>::observe_piece(std::size_t first, std::span<const T> x) {
  require_piece("observe", first, x.size());
  const std::size_t blocks = layout_.scales.size();
  if (seen_.size() != blocks) {
    seen_.assign(blocks, {});
    if (tensor_.spec.calibrator == detail::mean_abs_calibrator::name) means_.assign(blocks, {});
  }
  if (x.empty()) return;
  const Run all{.length = x.size(), .count = 1};
  detail::for_each_widened<B>(
      x.data(), all, [&](const float* floats, const Run& r, std::size_t, std::size_t) {
        const kernels::Extremes e = B::min_max::run(floats, r.count * r.length);
        nan_ += e.nan;
        infinite_ += e.infinite;
      });
  add_to(seen_, first, x);
  if (!means_.empty()) add_to(means_, first, x);
}

template <class Types, class ScaleTypes, Backend B>
template <class Acc, Real T>
void PieceCoder<Types, ScaleTypes, B>::add_to(std::vector<Acc>& accumulators, std::size_t first,
                                              std::span<const T> x) const {
  detail::SlotWindow<B, Acc, T>(accumulators, 0).add_part(tensor_.shape, block_, first, x);
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::fit(NonFinite non_finite) {
  if (non_finite == NonFinite::error)
    detail::require_all_finite(nan_, infinite_, tensor_.shape.size());
  ranges_.assign(layout_.scales.size(), Range{0.0f, 0.0f});
  for (std::size_t i = 0; i < seen_.size(); ++i) ranges_[i] = seen_[i].range();
  for (std::size_t i = 0; i < means_.size(); ++i) detail::set_mean_range(means_[i], ranges_[i]);
  detail::fit_parameters<Types, ScaleTypes>(tensor_, ranges_);
  detail::require_fitted<ScaleTypes>(tensor_, layout_);
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::restore(StoredParameters stored) {
  set_parameters<Types, ScaleTypes>(tensor_, std::move(stored));
  detail::require_parameters<Types, ScaleTypes>(tensor_, layout_);
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::encode(std::size_t first, std::span<const float> x,
                                              std::span<std::byte> codes) {
  encode_piece(first, x, codes);
}

template <class Types, class ScaleTypes, Backend B>
template <Real T>
void PieceCoder<Types, ScaleTypes, B>::encode_piece(std::size_t first, std::span<const T> x,
                                                    std::span<std::byte> codes) {
  require_piece("encode", first, x.size());
  detail::require_size("tq::PieceCoder::encode", "bytes of codes", code_bytes(x.size()),
                       codes.size());
  const bool packs = layout_.bits < 8;
  const std::span<std::byte> to = packs ? unpacked(x.size()) : codes;
  const auto size = static_cast<std::ptrdiff_t>(layout_.code_size());
  const auto begin = static_cast<std::ptrdiff_t>(first);
  const driver::BoundKernel of_floats = quantize_.get();
  sweep_piece(first, x.size(),
              [&](const Run& r, const driver::Span& span, const driver::Parameters& params) {
                const driver::Operands operands{.source = x.data(),
                                                .first = r.source - begin,
                                                .target = to.data() + (r.target - begin) * size,
                                                .draw_index = static_cast<std::uint64_t>(r.target)};
                if constexpr (std::same_as<T, float>) quantize_.sweep(operands, span, params);
                else
                  detail::sweep_widened<B, T>(&of_floats, operands, span, params,
                                              driver::this_machine());
              });
  if (packs) detail::pack_codes<B>(to, codes, layout_);
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::decode(std::size_t first, std::span<const std::byte> codes,
                                              std::span<float> out) {
  require_piece("decode", first, out.size());
  detail::require_size("tq::PieceCoder::decode", "bytes of codes", code_bytes(out.size()),
                       codes.size());
  std::span<const std::byte> from = codes;
  if (layout_.bits < 8) {
    const std::span<std::byte> to = unpacked(out.size());
    detail::unpack_codes<B>(codes, to, layout_);
    from = to;
  }
  detail::require_codes(from, tensor_, layout_);
  const auto begin = static_cast<std::ptrdiff_t>(first);
  sweep_piece(first, out.size(),
              [&](const Run& r, const driver::Span& span, const driver::Parameters& params) {
                dequantize_.sweep({.source = from.data(),
                                   .first = r.source - begin,
                                   .target = out.data() + (r.target - begin)},
                                  span, params);
              });
}

template <class Types, class ScaleTypes, Backend B>
template <class F>
void PieceCoder<Types, ScaleTypes, B>::sweep_piece(std::size_t first, std::size_t count,
                                                   F&& f) const {
  driver::Parameters params = detail::driver_parameters<Types, ScaleTypes, B>(tensor_);
  for_each_run_between(tensor_.shape, block_, first, first + count, [&](const Run& r) {
    params.first = r.param;
    params.row_step = r.param_stride;
    params.group = r.step == 1 ? 1 : driver::whole_row;
    f(r, driver::Span{r.length, r.count, r.source_stride, r.target_stride}, params);
  });
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::require_piece(const char* function, std::size_t first,
                                                     std::size_t count) const {
  const std::size_t n = tensor_.shape.size();
  if (first % 8 == 0 && first <= n && count <= n - first) return;
  raise(errc::bad_argument, std::string("tq::PieceCoder::") + function +
                                ": expected a piece that begins at a multiple of 8 inside " +
                                std::to_string(n) + " elements, got " + std::to_string(count) +
                                " from " + std::to_string(first));
}

template <class Types, class ScaleTypes, Backend B>
std::span<std::byte> PieceCoder<Types, ScaleTypes, B>::unpacked(std::size_t count) {
  if (unpacked_.size() < count) unpacked_ = Buffer<std::byte>(count);
  return unpacked_.span().first(count);
}

}  // namespace tq
