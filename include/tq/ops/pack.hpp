// SPDX-License-Identifier: MIT
#pragma once
// pack and unpack: codes, one per code_type, to dense bits and back.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/detail/row_major.hpp>
#include <tq/core/options.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/readable.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/detail/checks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

namespace tq {

/// Packs codes of element `Type`. Bits above `Type::bits` are dropped; `FiveInByte` clamps to the
/// type. Precondition: `out` has `Pack::bytes_for<Type>(codes.size())` bytes.
template <Element Type, PackingFor<Type> Pack = LowFirst, Backend B = default_backend>
void pack_unchecked(std::span<const typename Type::code_type> codes,
                    std::span<std::byte> out) noexcept {
  if constexpr (is_unpacked<Pack, Type>) {
    if (!codes.empty()) std::memcpy(out.data(), codes.data(), out.size());
  } else if constexpr (Pack::order == BitOrder::digits) {
    B::five_in_byte::pack(codes.data(), reinterpret_cast<unsigned char*>(out.data()), codes.size());
  } else {
    B::template bit_pack<typename Type::code_type>::pack(
        codes.data(), reinterpret_cast<unsigned char*>(out.data()), codes.size(), Type::bits,
        Pack::order == BitOrder::low_first);
  }
}

/// Packs the codes of element `Type` of a tensor, row-major. Bits above `Type::bits` are dropped.
/// Options: a backend. Throws: `errc::shape_mismatch` unless `out` has
/// `Pack::bytes_for<Type>(codes.size())` bytes; `errc::bad_argument` for extents that memory cannot
/// hold.
template <Element Type, PackingFor<Type> Pack = LowFirst,
          detail::InputOf<typename Type::code_type> C = TensorView<const typename Type::code_type>,
          Option... O, Backend B = detail::backend_among<O...>>
void pack(const C& codes, std::span<std::byte> out, const O&... options) {
  static_cast<void>(detail::choose<detail::OptionKind::backend>(options...));
  const auto in = detail::read_as<typename Type::code_type>(codes);
  const std::size_t size = detail::require_extents("tq::pack", in.view().shape());
  detail::require_size("tq::pack", "bytes", Pack::template bytes_for<Type>(size), out.size());
  const detail::RowMajor<typename Type::code_type> row_major(in.view());
  pack_unchecked<Type, Pack, B>(row_major.span(), out);
}
template <Element Type, PackingFor<Type> Pack, Backend B, class... Args>
[[deprecated("tq::pack: pass tq::on<B> as an option")]] void pack(Args&&... args) {
  tq::pack<Type, Pack>(std::forward<Args>(args)..., on<B>);
}

namespace detail {
// Codes of fewer than 8 bits, low bits first, from number `first` on.
template <Backend B, Element T>
void unpack_from(std::span<const std::byte> bytes, std::size_t first,
                 std::span<typename T::code_type> out) noexcept {
  using Code = typename T::code_type;
  using bit_pack = typename B::template bit_pack<Code>;
  const auto* in = reinterpret_cast<const unsigned char*>(bytes.data()) + first / 8 * T::bits;
  if (const std::size_t lead = first % 8; lead != 0) {
    Code some[8];
    const std::size_t m = std::min(out.size(), 8 - lead);
    bit_pack::unpack(in, some, lead + m, T::bits, true);
    std::copy_n(some + lead, m, out.data());
    out = out.subspan(m);
    in += T::bits;
  }
  bit_pack::unpack(in, out.data(), out.size(), T::bits, true);
}
}  // namespace detail

/// Unpacks codes of element `Type`, sign-extended. Where a code fills more bits than the type has,
/// it is copied as it is. Precondition: `bytes` has `Pack::bytes_for<Type>(out.size())` bytes.
template <Element Type, PackingFor<Type> Pack = LowFirst, Backend B = default_backend>
void unpack_unchecked(std::span<const std::byte> bytes,
                      std::span<typename Type::code_type> out) noexcept {
  if constexpr (is_unpacked<Pack, Type>) {
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  } else if constexpr (Pack::order == BitOrder::digits) {
    B::five_in_byte::unpack(reinterpret_cast<const unsigned char*>(bytes.data()), out.data(),
                            out.size());
  } else {
    B::template bit_pack<typename Type::code_type>::unpack(
        reinterpret_cast<const unsigned char*>(bytes.data()), out.data(), out.size(), Type::bits,
        Pack::order == BitOrder::low_first);
  }
}

namespace detail {
// Throws unless the bytes are so many codes of the type.
template <Element Type, Packing Pack, Backend B>
void require_packed_codes(std::span<const std::byte> bytes, std::size_t size) {
  require_size("tq::unpack", "bytes", Pack::template bytes_for<Type>(size), bytes.size());
  using code_type = typename Type::code_type;
  constexpr CodeRange codes = Symmetric::codes<Type>();
  [[maybe_unused]] const auto require_code = [&](code_type code, std::size_t i) {
    if (code < codes.min || code > codes.max)
      raise_expected(errc::bad_argument, "tq::unpack",
                     {"codes in [", codes.min, ", ", codes.max, "]"}, {code, " at element ", i});
  };
  if constexpr (is_unpacked<Pack, Type>) {
    for (std::size_t i = 0; i < size; ++i) {
      code_type code;
      std::memcpy(&code, bytes.data() + i * sizeof(code), sizeof(code));
      require_code(code, i);
    }
  } else if constexpr (Pack::order == BitOrder::digits) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (std::to_integer<int>(bytes[i]) > 242)
        raise_expected(errc::bad_argument, "tq::unpack",
                       {"bytes in [0, 242] (five digits of base 3)"},
                       {std::to_integer<int>(bytes[i]), " at byte ", i});
  } else if constexpr (codes.max - codes.min + 1 < (1 << Type::bits)) {
    code_type part[1024];
    for (std::size_t first = 0; first < size; first += std::size(part)) {
      const std::size_t n = std::min(std::size(part), size - first);
      unpack_unchecked<Type, Pack, B>(bytes.subspan(Pack::template bytes_for<Type>(first)),
                                      std::span(part).first(n));
      for (std::size_t i = 0; i < n; ++i) require_code(part[i], first + i);
    }
  }
}
}  // namespace detail

/// Unpacks codes of element `Type`, sign-extended, to the elements of `out` in row-major order.
/// Options: a backend. Throws: `errc::shape_mismatch` unless `bytes` has
/// `Pack::bytes_for<Type>(out.size())` bytes; `errc::bad_argument` when an unpacked code is not one
/// of the type's, or a byte of `FiveInByte` is none, and for extents that memory cannot hold.
/// Nothing is written then.
template <Element Type, PackingFor<Type> Pack = LowFirst,
          detail::OutputOf<typename Type::code_type> Out = TensorView<typename Type::code_type>,
          Option... O, Backend B = detail::backend_among<O...>>
void unpack(std::span<const std::byte> bytes, Out&& out, const O&... options) {
  static_cast<void>(detail::choose<detail::OptionKind::backend>(options...));
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::unpack: the output is a temporary: give it a name first");
  using code_type = typename Type::code_type;
  const TensorView<code_type> to = detail::output<code_type>(std::forward<Out>(out));
  const std::size_t size = detail::require_extents("tq::unpack", to.shape());
  detail::require_packed_codes<Type, Pack, B>(bytes, size);
  if (to.is_contiguous()) return unpack_unchecked<Type, Pack, B>(bytes, to.flat());
  Buffer<code_type> codes(size);
  unpack_unchecked<Type, Pack, B>(bytes, codes.span());
  detail::copy_to_strides(TensorView<const code_type>(codes.data(), to.shape()), to);
}
template <Element Type, PackingFor<Type> Pack, Backend B, class... Args>
[[deprecated("tq::unpack: pass tq::on<B> as an option")]] void unpack(Args&&... args) {
  tq::unpack<Type, Pack>(std::forward<Args>(args)..., on<B>);
}

}  // namespace tq
