// SPDX-License-Identifier: MIT
#pragma once
// Where the codes of values of the moment go: to a view, or packed into bytes; those of some rows,
// or of all.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/real.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/driver/tuning.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/known_parameters.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::detail {

// The codes of a run's rows, row k by scales[k] and zero_points[k], to where they go in `codes`.
// Precondition: where they are packed, rows begin on bytes, or follow one another on both sides.
template <Backend B, AnyParams Params, Packing Pack, Real In, NumericsPolicy N>
void quantize_rows(const In* x, const Run& r, const float* scales, const std::int32_t* zero_points,
                   void* codes, const N& numerics, bool streams) {
  using T = typename Params::type;
  driver::Span span{r.length, r.count, r.source_stride, r.target_stride};
  driver::Parameters params{
      .scales = driver::plain<B>(scales), .origins = driver::plain<B>(zero_points), .row_step = 1};
  const auto length = static_cast<std::ptrdiff_t>(r.length);
  if (r.source_stride == length && r.target_stride == length) {  // groups of one row
    params.group = r.length;
    span = {.length = r.size()};
  }
  constexpr driver::KnownParameters known = [] {  // a row has one each
    driver::KnownParameters k = known_parameters<Params>;
    k.is_one = false;
    return k;
  }();
  driver::sweep(kernel_for<B, known>(quantizing<Params, In, Pack>(numerics)),
                {.source = x + r.source,
                 .target = static_cast<std::byte*>(codes) +
                           driver::bytes_to(r.target, bits_in_memory<T, Pack>),
                 .draw_index = static_cast<std::uint64_t>(r.target),
                 .streams = streams},
                span, params);
}

// One `code_type` each, to the same place of a view.
template <Backend B, AnyParams Params, Real In, NumericsPolicy N>
struct CodesToView {
  static constexpr bool by_rows = true;  // whether rows can be written by themselves
  const TensorView<const In>& x;
  const TensorView<typename Params::code_type>& out;
  const N& numerics;
  // Not past the cache where encoding takes longer than writing does.
  bool streams = IntegerParams<Params> &&
                 x.size() * (sizeof(In) + sizeof(typename Params::code_type)) >
                     driver::this_machine().stream_from;

  [[nodiscard]] const Strides& strides() const noexcept { return out.strides(); }
  // Whether those of a run can, and how many together.
  [[nodiscard]] static bool takes(const Run&) noexcept { return true; }
  [[nodiscard]] static std::size_t together(const Run&) noexcept { return 1; }

  // The codes of a run's rows: row k by scales[k] and zero_points[k].
  void rows(const Run& r, const float* scales, const std::int32_t* zero_points) const {
    quantize_rows<B, Params, Unpacked>(x.data(), r, scales, zero_points, out.data(), numerics,
                                       streams);
  }
  // The codes of everything, by the parameters of all blocks.
  template <Executor E>
  void all(const Shape& block, const driver::Parameters& params, const E& executor) const {
    quantize_codes<B, Params, Unpacked>(x, block, params, out.data(), out.strides(), numerics,
                                        executor);
  }
};

// Packed by `Pack`, row-major.
template <Backend B, AnyParams Params, Packing Pack, Real In, NumericsPolicy N>
struct CodesToBytes {
  static constexpr bool by_rows = Pack::order != BitOrder::digits;
  using type = typename Params::type;

  const TensorView<const In>& x;
  std::span<std::byte> bytes;
  const N& numerics;
  bool streams = x.size() * sizeof(In) > driver::this_machine().stream_from;

  [[nodiscard]] Strides strides() const noexcept { return row_major_strides(x.shape()); }
  // True for runs that share no byte with others.
  [[nodiscard]] bool takes(const Run& r) const noexcept {
    const auto first = static_cast<std::size_t>(r.target);
    const bool dense = r.count == 1 || r.target_stride == static_cast<std::ptrdiff_t>(r.length);
    const bool apart = first % 8 == 0 && (r.size() % 8 == 0 || first + r.size() == x.size());
    return dense && (apart || in_whole_bytes(r));
  }
  [[nodiscard]] static std::size_t together(const Run& r) noexcept {
    return in_whole_bytes(r) || r.length % 8 == 0 ? 1 : 8;
  }

  void rows(const Run& r, const float* scales, const std::int32_t* zero_points) const {
    const bool joined = r.source_stride == static_cast<std::ptrdiff_t>(r.length);
    if (joined || r.count == 1 || in_whole_bytes(r))
      return quantize_rows<B, Params, Pack>(x.data(), r, scales, zero_points, bytes.data(),
                                            numerics, streams);
    Run own = r;
    own.target = 0;
    Buffer<typename Params::code_type> codes(r.size());
    quantize_rows<B, Params, Unpacked>(x.data(), own, scales, zero_points, codes.data(), numerics,
                                       false);
    pack_unchecked<type, Pack, B>(
        codes.span(),
        bytes.subspan(Pack::template bytes_for<type>(static_cast<std::size_t>(r.target)),
                      Pack::template bytes_for<type>(r.size())));
  }
  template <Executor E>
  void all(const Shape& block, const driver::Parameters& params, const E& executor) const {
    quantize_packed<B, Params, Pack>(x, block, params, bytes, numerics, executor);
  }

 private:
  // Whether every row begins on a byte.
  [[nodiscard]] static bool in_whole_bytes(const Run& r) noexcept {
    const auto whole = [](std::size_t n) { return n % 8 * type::bits % 8 == 0; };
    return whole(static_cast<std::size_t>(r.target)) && whole(r.length);
  }
};

}  // namespace tq::detail
