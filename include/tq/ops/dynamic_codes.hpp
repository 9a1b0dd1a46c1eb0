// SPDX-License-Identifier: MIT
#pragma once
// Where the codes of values of the moment go: to a view, or packed into bytes; those of some rows,
// or of all.

#include <tq/arch/cpu.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/run.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/kernels/args.hpp>
#include <tq/ops/parts.hpp>
#include <tq/ops/quantize.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::detail {

// The kernel's view of rows whose parameters are side by side. What is read `next` elements further
// on is asked for meanwhile, unless that is 0.
[[nodiscard]] inline kernels::Span rows_span(Run r, const float* scales,
                                             const std::int32_t* zero_points,
                                             std::ptrdiff_t next) noexcept {
  r.param = 0;
  r.param_stride = 1;
  kernels::Span span = kernel_span(r, scales, zero_points);
  span.next = next;
  return span;
}

// One `code_type` each, to the same place of a view.
template <Backend B, AnyParams Params, NumericsPolicy N>
struct CodesToView {
  static constexpr bool by_rows = true;  // whether rows can be written by themselves
  const ConstTensorView& x;
  const TensorView<typename Params::code_type>& out;
  const N& numerics;
  // Not past the cache where encoding takes longer than writing does.
  bool streams =
      IntegerParams<Params> &&
      arch::worth_streaming(x.size() * (sizeof(float) + sizeof(typename Params::code_type)));

  [[nodiscard]] const Strides& strides() const noexcept { return out.strides(); }
  // Whether those of a run can, and how many together.
  [[nodiscard]] static bool takes(const Run&) noexcept { return true; }
  [[nodiscard]] static std::size_t together(const Run&) noexcept { return 1; }

  // The codes of a run's rows: row k by scales[k] and zero_points[k].
  void rows(const Run& r, const float* scales, const std::int32_t* zero_points,
            std::ptrdiff_t next) const noexcept {
    code_kernels<B, Params>::quantize(x.data() + r.source, out.data() + r.target,
                                      rows_span(r, scales, zero_points, next), numerics,
                                      static_cast<std::uint64_t>(r.target), streams);
  }
  // The codes of everything, by the parameters of all blocks.
  template <Executor E>
  void all(const Shape& block, const float* scales, const std::int32_t* zero_points,
           const E& executor) const {
    quantize_codes<B, Params>(x, block, scales, zero_points, out, numerics, executor);
  }
};

// Packed by `Pack`, row-major.
template <Backend B, AnyParams Params, Packing Pack, NumericsPolicy N>
struct CodesToBytes {
  static constexpr bool by_rows = Pack::order != BitOrder::digits;
  using type = typename Params::type;
  using kernel = code_kernels<B, Params>;
  static constexpr bool is_fused = Pack::order == BitOrder::low_first && kernel::packs;

  const ConstTensorView& x;
  std::span<std::byte> bytes;
  const N& numerics;
  bool streams = arch::worth_streaming(x.size() * sizeof(float));

  [[nodiscard]] Strides strides() const noexcept { return row_major_strides(x.shape()); }
  // Those that share no byte with others.
  [[nodiscard]] bool takes(const Run& r) const noexcept {
    const auto first = static_cast<std::size_t>(r.target);
    const bool dense = r.count == 1 || r.target_stride == static_cast<std::ptrdiff_t>(r.length);
    const bool apart = first % 8 == 0 && (r.size() % 8 == 0 || first + r.size() == x.size());
    return dense && (apart || in_whole_bytes(r));
  }
  [[nodiscard]] static std::size_t together(const Run& r) noexcept {
    return in_whole_bytes(r) || r.length % 8 == 0 ? 1 : 8;
  }

  void rows(const Run& r, const float* scales, const std::int32_t* zero_points,
            std::ptrdiff_t next) const noexcept {
    auto* to = reinterpret_cast<unsigned char*>(bytes.data());
    if constexpr (is_fused) {
      if (in_whole_bytes(r))
        return kernel::pack(x.data() + r.source, to + kernels::byte_of<type::bits>(r.target),
                            rows_span(r, scales, zero_points, next), numerics,
                            static_cast<std::uint64_t>(r.target), streams);
    }
    Run own = r;
    own.param = 0;
    own.param_stride = 1;
    PackingWriter<B, Params, Pack, N> writer(x.data(), to, scales, zero_points, numerics, streams);
    writer.add(own);
  }
  template <Executor E>
  void all(const Shape& block, const float* scales, const std::int32_t* zero_points,
           const E& executor) const {
    quantize_packed<B, Params, Pack>(x, block, scales, zero_points, bytes, numerics, executor);
  }

 private:
  // Whether every row is packed as it is computed.
  [[nodiscard]] static bool in_whole_bytes(const Run& r) noexcept {
    if constexpr (is_fused) {
      constexpr std::size_t codes = 8 / type::bits;  // of a byte
      return static_cast<std::size_t>(r.target) % codes == 0 && r.length % codes == 0;
    }
    return false;
  }
};

}  // namespace tq::detail
