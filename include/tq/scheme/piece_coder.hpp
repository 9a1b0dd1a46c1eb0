// SPDX-License-Identifier: MIT
#pragma once
// PieceCoder: encode and decode, piece by piece, in memory that is kept from tensor to tensor.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/sweep.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/code_kernels.hpp>
#include <tq/scheme/detail/encoded_codes.hpp>
#include <tq/scheme/detail/encoded_parameters.hpp>
#include <tq/scheme/detail/packed_sweep.hpp>
#include <tq/scheme/detail/params_fit.hpp>
#include <tq/scheme/detail/piece_values.hpp>
#include <tq/scheme/detail/seen_ranges.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/non_finite.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/stored_parameters.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace tq {

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
  template <Readable X>
    requires(!std::same_as<real_of<X>, float>)
  void observe(std::size_t first, const X& x) {
    observe_piece(first, std::span<const real_of<X>>(x));
  }
  /// Looks at the whole tensor at once, which may have any strides. Throws: `errc::shape_mismatch`;
  /// what the executor throws.
  template <Real T, Executor E = Serial>
  void observe(const TensorView<const T>& x, const E& executor = {});
  /// Makes the parameters for what was observed, which is then forgotten. Throws: as `encode`.
  void fit(NonFinite non_finite = NonFinite::raise);
  /// Takes parameters from a file, after a check. Throws: as `set_parameters` and `decode`.
  void restore(StoredParameters stored);

  /// Writes the codes of a piece, packed. Throws: `errc::bad_argument` for what is no piece;
  /// `errc::shape_mismatch` unless `codes` has `code_bytes(x.size())`.
  void encode(std::size_t first, std::span<const float> x, std::span<std::byte> codes);
  template <Readable X>
    requires(!std::same_as<real_of<X>, float>)
  void encode(std::size_t first, const X& x, std::span<std::byte> codes) {
    encode_piece(first, std::span<const real_of<X>>(x), codes);
  }
  /// Writes the codes of the whole tensor, which may have any strides. Throws:
  /// `errc::shape_mismatch`; what the executor throws.
  template <Real T, Executor E = Serial>
  void encode(const TensorView<const T>& x, std::span<std::byte> codes, const E& executor = {});
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
  [[nodiscard]] const EncodedTensor& parameters() const& noexcept { return tensor_; }
  [[nodiscard]] EncodedTensor parameters() && noexcept {
    is_started_ = false;
    return std::move(tensor_);
  }

 private:
  template <Real T>
  void observe_piece(std::size_t first, std::span<const T> x);
  template <Real T>
  void encode_piece(std::size_t first, std::span<const T> x, std::span<std::byte> codes);
  // Writes codes that have whole bytes each.
  template <Real T>
  void sweep_to_codes(std::size_t first, std::span<const T> x, std::byte* codes);
  void require_piece(const char* function, std::size_t first, std::size_t count) const;
  void require_bytes(const char* function, std::size_t count, std::size_t bytes) const;
  // Makes room for what is observed, before the first element.
  void begin_observing();
  // The kernels for the scheme, which are made when they are asked for.
  [[nodiscard]] const detail::HeldOperation& to_codes();
  [[nodiscard]] const detail::HeldOperation& to_values();
  // Memory for some codes, a byte each.
  [[nodiscard]] std::span<std::byte> unpacked(std::size_t count);

  EncodedTensor tensor_;
  EncodedLayout layout_;
  Shape block_;
  detail::HeldOperation quantize_, dequantize_;
  detail::SeenRanges seen_;
  std::optional<Observer<MeanAbs, AnyGranularity>> means_;  // where scales are made of means
  bool is_started_ = false;
  Buffer<std::byte> unpacked_;
};

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::start(const QuantSpec& spec, const Shape& shape) {
  if (!is_started_ || !(spec == tensor_.spec) || !(shape == tensor_.shape)) {
    is_started_ = false;
    layout_ = encoded_layout<Types, ScaleTypes>(spec, shape);
    block_ = AnyGranularity(spec).block(shape);
    tensor_.spec = spec;
    tensor_.shape = shape;
    quantize_ = dequantize_ = {};
    is_started_ = true;
  }
  tensor_.scales = {};
  tensor_.zero_points = {};
  tensor_.offsets = {};
  seen_.start(0);
  means_.reset();
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::begin_observing() {
  if (seen_.size() == layout_.scales.size()) return;
  seen_.start(layout_.scales.size());
  if (tensor_.spec.calibrator == detail::mean_abs_calibrator::name)
    means_.emplace(AnyGranularity(tensor_.spec));
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::observe(std::size_t first, std::span<const float> x) {
  observe_piece(first, x);
}

template <class Types, class ScaleTypes, Backend B>
template <Real T>
void PieceCoder<Types, ScaleTypes, B>::observe_piece(std::size_t first, std::span<const T> x) {
  require_piece("observe", first, x.size());
  begin_observing();
  if (x.empty()) return;
  seen_.template add_part<B>(tensor_.shape, block_, first, x);
  if (!means_) return;
  if (means_->batches() == 0) means_->begin(tensor_.shape);
  means_->add_part(tensor_.shape, first, x, on<B>);
}

template <class Types, class ScaleTypes, Backend B>
template <Real T, Executor E>
void PieceCoder<Types, ScaleTypes, B>::observe(const TensorView<const T>& x, const E& executor) {
  detail::require_shape("tq::PieceCoder::observe", "a tensor", tensor_.shape, x.shape());
  begin_observing();
  if (x.size() == 0) return;
  seen_.template add<B>(x, block_, executor);
  if (means_) means_->observe(x, executor, on<B>);
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::fit(NonFinite non_finite) {
  if (non_finite == NonFinite::raise)
    detail::require_all_finite(seen_.not_finite(), tensor_.shape.size());
  begin_observing();
  const std::span<Range> ranges = seen_.finish();
  if (means_)
    for (std::size_t i = 0; i < means_->accumulators().size(); ++i)
      detail::set_mean_range(means_->accumulators()[i], ranges[i]);
  detail::fit_parameters<Types, ScaleTypes>(tensor_, ranges);
  seen_ = {};
  means_.reset();
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
  require_bytes("encode", x.size(), codes.size());
  if (layout_.bits >= 8) return sweep_to_codes(first, x, codes.data());
  for (std::size_t i = 0; i < x.size(); i += detail::packed_at_once) {
    const std::size_t n = std::min(detail::packed_at_once, x.size() - i);
    const std::span<std::byte> some = unpacked(n);
    sweep_to_codes(first + i, x.subspan(i, n), some.data());
    detail::pack_codes<B>(some, codes.subspan(code_bytes(i), code_bytes(n)), layout_);
  }
}

template <class Types, class ScaleTypes, Backend B>
template <Real T>
void PieceCoder<Types, ScaleTypes, B>::sweep_to_codes(std::size_t first, std::span<const T> x,
                                                      std::byte* codes) {
  const auto size = static_cast<std::ptrdiff_t>(layout_.code_size());
  const auto begin = static_cast<std::ptrdiff_t>(first);
  const auto params = detail::driver_parameters<Types, ScaleTypes, B>(tensor_);
  detail::with_source<B, T>(to_codes().get(), [&](const driver::BoundKernel& kernel) {
    detail::SweptTensor{tensor_.shape, block_, params}.each_run(
        first, x.size(),
        [&](const Run& r, const driver::Span& span, const driver::Parameters& own) {
          driver::sweep(kernel,
                        {.source = x.data(),
                         .first = r.source - begin,
                         .target = codes + (r.target - begin) * size,
                         .draw_index = static_cast<std::uint64_t>(r.target)},
                        span, own);
        });
  });
}

template <class Types, class ScaleTypes, Backend B>
template <Real T, Executor E>
void PieceCoder<Types, ScaleTypes, B>::encode(const TensorView<const T>& x,
                                              std::span<std::byte> codes, const E& executor) {
  const Shape& shape = tensor_.shape;
  detail::require_shape("tq::PieceCoder::encode", "a tensor", shape, x.shape());
  require_bytes("encode", x.size(), codes.size());
  const auto params = detail::driver_parameters<Types, ScaleTypes, B>(tensor_);
  const Strides strides = row_major_strides(shape);
  const auto sweep = [&](const driver::BoundKernel& kernel, std::byte* to) {
    detail::sweep_tensor(kernel, {x.data(), x.strides(), to, strides}, shape, block_, params,
                         executor);
  };
  detail::with_source<B, T>(to_codes().get(), [&](const driver::BoundKernel& kernel) {
    if (layout_.bits >= 8 || x.size() == 0) return sweep(kernel, codes.data());
    if (detail::TensorSpans(shape, block_, x.strides(), strides).pack_in_place(layout_.bits)) {
      const detail::PackedCodes packed{kernel, layout_};
      const driver::Kernel packing = detail::packing_kernel<B>(packed);
      return sweep(driver::bind<detail::PackedCodes>({packing}, packed), codes.data());
    }
    Buffer<std::byte> unpacked(x.size());
    sweep(kernel, unpacked.data());
    detail::pack_codes<B>(unpacked.span(), codes, layout_);
  });
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::decode(std::size_t first, std::span<const std::byte> codes,
                                              std::span<float> out) {
  require_piece("decode", first, out.size());
  require_bytes("decode", out.size(), codes.size());
  std::span<const std::byte> from = codes;
  if (layout_.bits < 8) {
    const std::span<std::byte> to = unpacked(out.size());
    detail::unpack_codes<B>(codes, to, layout_);
    from = to;
  }
  detail::require_codes(from, tensor_, layout_);
  const auto params = detail::driver_parameters<Types, ScaleTypes, B>(tensor_);
  detail::SweptTensor{tensor_.shape, block_, params}.to_values(to_values().get(), first,
                                                               from.data(), out);
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::require_piece(const char* function, std::size_t first,
                                                     std::size_t count) const {
  const std::size_t n = tensor_.shape.size();
  if (first % 8 == 0 && first <= n && count <= n - first) return;
  detail::raise_text(
      errc::bad_argument,
      {"tq::PieceCoder::", function, ": expected a piece that begins at a multiple of 8 inside ", n,
       " elements, got ", count, " from ", first});
}

template <class Types, class ScaleTypes, Backend B>
void PieceCoder<Types, ScaleTypes, B>::require_bytes(const char* function, std::size_t count,
                                                     std::size_t bytes) const {
  const std::string where = std::string("tq::PieceCoder::") + function;
  detail::require_size(where.c_str(), "bytes of codes", code_bytes(count), bytes);
}

template <class Types, class ScaleTypes, Backend B>
const detail::HeldOperation& PieceCoder<Types, ScaleTypes, B>::to_codes() {
  if (!quantize_.exists())
    quantize_ = detail::quantize_kernel_of<Types, B>(tensor_.spec, layout_.codes);
  return quantize_;
}

template <class Types, class ScaleTypes, Backend B>
const detail::HeldOperation& PieceCoder<Types, ScaleTypes, B>::to_values() {
  if (!dequantize_.exists()) dequantize_ = detail::dequantize_kernel_of<Types, B>(tensor_.spec);
  return dequantize_;
}

template <class Types, class ScaleTypes, Backend B>
std::span<std::byte> PieceCoder<Types, ScaleTypes, B>::unpacked(std::size_t count) {
  if (unpacked_.size() < count) unpacked_ = Buffer<std::byte>(count);
  return unpacked_.span().first(count);
}

}  // namespace tq
