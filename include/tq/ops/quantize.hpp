// SPDX-License-Identifier: MIT
#pragma once
// quantize: float32 tensors to codes.

#include <tq/core/packing.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/ops/code_writer.hpp>
#include <tq/ops/decoded_params.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/parts.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tq {

namespace detail {

// Codes on their way into packed bytes. Runs arrive in the order of the tensor; what cannot be packed
// straight from registers waits here until eight codes and more are together.
template <Backend B, AnyParams Params, Packing Pack, NumericsPolicy N>
class PackingWriter {
  using type = typename Params::type;
  using code_type = typename Params::code_type;
  using kernel = code_kernels<B, Params>;
  static constexpr bool fused = Pack::order == BitOrder::low_first && kernel::packs;

 public:
  // `zero_points` may be null where the symmetry has none.
  PackingWriter(const float* x, unsigned char* out, const float* scales, const std::int32_t* zero_points, const N& n,
                bool streaming) noexcept
      : x_(x), out_(out), scales_(scales), zero_points_(zero_points), numerics_(n), streaming_(streaming) {}
  PackingWriter(const PackingWriter&) = delete;
  PackingWriter& operator=(const PackingWriter&) = delete;
  ~PackingWriter() { flush(); }

  void add(const Run& run) noexcept {
    const auto begin = static_cast<std::size_t>(run.target);
    if (begin != next_) {  // first run, or a gap another writer fills
      flush();
      first_ = next_ = begin;
    }
    std::size_t done = 0;
    if constexpr (fused) {
      const bool dense = run.count == 1 || run.target_stride == static_cast<std::ptrdiff_t>(run.length);
      if (pending_ == 0 && begin % 8 == 0 && dense && (run.count == 1 || run.length % 8 == 0)) {
        done = run.size() / 8 * 8;
        for_each_slice(run, 0, done, [&](const Run& r) {
          kernel::pack(x_ + r.source, out_ + static_cast<std::size_t>(r.target) * type::bits / 8,
                       kernel_span(r, scales_, zero_points_), numerics_, static_cast<std::uint64_t>(r.target), streaming_);
        });
        next_ += done;
        first_ = next_;
      }
    }
    while (done < run.size()) {
      const std::size_t n = std::min(capacity - pending_, run.size() - done);
      for_each_slice(run, done, done + n, [&](const Run& r) {
        const auto at = static_cast<std::size_t>(r.target) - first_;
        kernel::quantize(x_ + r.source, codes_ + at, kernel_span(r, scales_, zero_points_), numerics_,
                         static_cast<std::uint64_t>(r.target), false);
      });
      done += n;
      next_ += n;
      pending_ += n;
      if (pending_ == capacity) flush();
    }
  }

 private:
  void flush() noexcept {
    B::template bit_pack<code_type>::pack(codes_, out_ + first_ / 8 * std::size_t{type::bits}, pending_,
                                                type::bits, Pack::order == BitOrder::low_first);
    first_ = next_;
    pending_ = 0;
  }

  static constexpr std::size_t capacity = 4096;  // a multiple of 8: flushed chunks end on whole bytes
  const float* x_;
  unsigned char* out_;
  const float* scales_;
  const std::int32_t* zero_points_;
  const N& numerics_;
  bool streaming_;
  std::size_t first_ = 0, next_ = 0, pending_ = 0;
  alignas(64) code_type codes_[capacity];
};

// Packed codes are row-major: where the source is laid out otherwise, its runs arrive out of order.
inline bool in_order(const ConstTensorView& x) noexcept {
  std::ptrdiff_t last = 0;
  bool ordered = true;
  for (int i = x.shape().rank() - 1; i >= 0; --i) {
    if (x.shape()[i] == 1) continue;
    ordered = ordered && x.stride(i) > 0 && x.stride(i) >= last;
    last = x.stride(i);
  }
  return ordered;
}

// What quantize_unchecked does, by arrays of parameters for blocks of shape `block`; `zero_points` may be null.
template <Backend B, AnyParams Params, NumericsPolicy N, Executor E>
void quantize_codes(const ConstTensorView& x, const Shape& block, const float* scales, const std::int32_t* zero_points,
                    const TensorView<typename Params::code_type>& out, const N& numerics, const E& executor) {
  const bool streaming = arch::worth_streaming(x.size() * (sizeof(float) + sizeof(typename Params::code_type)));
  if (const std::size_t n = whole_run(executor, x.shape(), block, x.strides(), out.strides()); n != 0)
    return code_kernels<B, Params>::quantize(x.data(), out.data(), kernel_span({.length = n, .count = 1}, scales, zero_points),
                                             numerics, 0, streaming);
  for_each_task(executor, x.shape(), block, x.strides(), out.strides(), [&](auto&& each) {
    CodeWriter<B, Params, N> writer(x.data(), out.data(), scales, zero_points, numerics, streaming);
    each([&](const Run& r) { writer.add(r); });
  });
}

// The same into packed bytes, row-major.
template <Backend B, AnyParams Params, Packing Pack, NumericsPolicy N, Executor E>
void quantize_packed(const ConstTensorView& x, const Shape& block, const float* scales, const std::int32_t* zero_points,
                     std::span<std::byte> bytes, const N& numerics, const E& executor) {
  using code_type = typename Params::code_type;
  if constexpr (is_unpacked<Pack, typename Params::type>) {
    const TensorView<code_type> out(reinterpret_cast<code_type*>(bytes.data()), x.shape());
    quantize_codes<B, Params>(x, block, scales, zero_points, out, numerics, executor);
  } else if (Pack::order == BitOrder::digits || !in_order(x)) {
    Buffer<code_type> codes(x.size());
    const TensorView<code_type> out(codes.data(), x.shape());
    quantize_codes<B, Params>(x, block, scales, zero_points, out, numerics, executor);
    pack_unchecked<typename Params::type, Pack, B>(codes.span(), bytes);
  } else {
    const bool streaming = arch::worth_streaming(x.size() * sizeof(float));
    auto* to = reinterpret_cast<unsigned char*>(bytes.data());
    for_each_task(executor, x.shape(), block, x.strides(), row_major_strides(x.shape()), [&](auto&& each) {
      PackingWriter<B, Params, Pack, N> writer(x.data(), to, scales, zero_points, numerics, streaming);
      each([&](const Run& r) { writer.add(r); });
    });
  }
}

}  // namespace detail

/// Writes the code of every element of `x` to the same place of `out`, which may have any strides.
/// Preconditions: `params.check(x.shape()) == errc::ok`, the shapes are equal, the memory does not overlap.
template <Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics::onnx,
          Executor E = Serial>
void quantize_unchecked(const ConstTensorView& x, const Params& params, const TensorView<typename Params::code_type>& out,
                        const N& numerics = {},
                        const E& executor = {}) noexcept(std::same_as<E, Serial> && detail::reads_in_place<Params>) {
  const detail::DecodedParams<B, Params> decoded(params);
  detail::quantize_codes<B, Params>(x, params.granularity().block(x.shape()), decoded.scales(), decoded.zero_points(), out,
                                    numerics, executor);
}

/// Writes the code of every element of `x` to `out`, one `code_type` each. `out` is a span or vector of
/// x.size() codes (row-major), or a view of the shape of x with strides of its own.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when the parameters or `out` do
/// not fit; `errc::not_finite` under `NanRaises`. Nothing is written then.
template <Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics::onnx,
          Executor E = Serial>
void quantize(const ConstTensorView& x, const Params& params, TensorView<typename Params::code_type> out,
              const N& numerics = {}, const E& executor = {}) {
  detail::require_fit("tq::quantize", params, x.shape());
  detail::shape_as("tq::quantize", "an output", out, x.shape());
  detail::require_no_nan<B, N>("tq::quantize", x);
  quantize_unchecked<B>(x, params, out, numerics, executor);
}

/// Writes the codes of `x`, packed by `Pack` and row-major, into bytes of the caller's.
/// Throws: as above; `bytes` must be as many as QuantizedTensor has for the shape of `x`.
template <Packing Pack = LowFirst, Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics::onnx,
          Executor E = Serial>
void quantize(const ConstTensorView& x, const Params& params, std::span<std::byte> bytes, const N& numerics = {},
              const E& executor = {}) {
  detail::require_fit("tq::quantize", params, x.shape());
  detail::require_size("tq::quantize", "bytes of codes", Pack::template bytes_for<typename Params::type>(x.size()), bytes.size());
  detail::require_no_nan<B, N>("tq::quantize", x);
  const detail::DecodedParams<B, Params> decoded(params);
  detail::quantize_packed<B, Params, Pack>(x, params.granularity().block(x.shape()), decoded.scales(), decoded.zero_points(),
                                           bytes, numerics, executor);
}
template <Backend B, AnyParams Params, NumericsPolicy N = numerics::onnx, Executor E = Serial>
void quantize(const ConstTensorView& x, const Params& params, std::span<std::byte> bytes, const N& numerics = {},
              const E& executor = {}) {
  quantize<LowFirst, B>(x, params, bytes, numerics, executor);
}

/// Writes the packed codes of `x` into a tensor made before, so that no memory is allocated (but for more than 1024 zero
/// points, or scales other than float32, which are decoded first).
/// Throws: as above; `out` must have the shape of `x`, and its own parameters are used.
template <Backend B = default_backend, AnyParams Params, Packing Pack, NumericsPolicy N = numerics::onnx,
          Executor E = Serial>
void quantize(const ConstTensorView& x, QuantizedTensor<Params, Pack>& out, const N& numerics = {},
              const E& executor = {}) {
  const Params& params = out.params();
  detail::require_shape("tq::quantize", "an output", x.shape(), out.shape());
  detail::require_no_nan<B, N>("tq::quantize", x);
  const detail::DecodedParams<B, Params> decoded(params);
  detail::quantize_packed<B, Params, Pack>(x, params.granularity().block(x.shape()), decoded.scales(), decoded.zero_points(),
                                           out.bytes(), numerics, executor);
}

/// A new tensor with the codes of `x`, packed by `Pack`.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when the parameters do not fit;
/// `errc::not_finite` under `NanRaises`.
template <Packing Pack = LowFirst, Backend B = default_backend, AnyParams Params,
          NumericsPolicy N = numerics::onnx, Executor E = Serial>
[[nodiscard]] QuantizedTensor<Params, Pack> quantize(const ConstTensorView& x, Params params, const N& numerics = {},
                                                     const E& executor = {}) {
  detail::require_fit("tq::quantize", params, x.shape());
  QuantizedTensor<Params, Pack> out(x.shape(), std::move(params));
  quantize<B>(x, out, numerics, executor);
  return out;
}
template <Backend B, AnyParams Params, NumericsPolicy N = numerics::onnx, Executor E = Serial>
[[nodiscard]] QuantizedTensor<Params> quantize(const ConstTensorView& x, Params params, const N& numerics = {},
                                               const E& executor = {}) {
  return quantize<LowFirst, B>(x, std::move(params), numerics, executor);
}

}  // namespace tq
