// SPDX-License-Identifier: MIT
// Packings: every width and order, there and back, by the kernels of this build and bit by bit.
#include <tq/core/packing.hpp>
#include <tq/ops/pack.hpp>

#include <array>

#include "fuzz.hpp"

namespace {

using namespace tq;
using fuzz::require, fuzz::accepts;

constexpr std::uint8_t guard = 0xa5;

// Bit b of code i, by the definition of the order.
template <class T, class Pack>
[[nodiscard]] std::size_t place(std::size_t i, std::size_t b) {
  constexpr auto bits = static_cast<std::size_t>(T::bits);
  if (Pack::order == BitOrder::low_first) return i * bits + b;
  const std::size_t from_high = i * bits + (bits - 1 - b);
  return from_high / 8 * 8 + 7 - from_high % 8;
}
template <class T, class Pack>
[[nodiscard]] std::vector<typename T::code_type> unpacked(fuzz::Bytes bytes, std::size_t n) {
  std::vector<typename T::code_type> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::int32_t code = 0;
    for (std::size_t b = 0; b < std::size_t{T::bits}; ++b) {
      const std::size_t at = place<T, Pack>(i, b);
      code |= (bytes[at / 8] >> at % 8 & 1) << b;
    }
    if (T::qmin < 0 && code >> (T::bits - 1) != 0) code -= 1 << T::bits;
    out[i] = static_cast<typename T::code_type>(code);
  }
  return out;
}
// Digits of base 3.
[[nodiscard]] std::vector<std::int8_t> digits(fuzz::Bytes bytes, std::size_t n) {
  constexpr std::array<int, 5> power{1, 3, 9, 27, 81};
  std::vector<std::int8_t> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = static_cast<std::int8_t>(bytes[i / 5] / power[i % 5] % 3 - 1);
  return out;
}

// Bytes at a place that may not be aligned, between guards.
class Guarded {
 public:
  Guarded(std::size_t size, std::size_t offset)
      : memory_(size + 2 * margin, guard), at_(margin - offset), size_(size) {}
  [[nodiscard]] std::span<std::byte> bytes() {
    return std::as_writable_bytes(std::span(memory_)).subspan(at_, size_);
  }
  [[nodiscard]] fuzz::Bytes content() const { return fuzz::Bytes(memory_).subspan(at_, size_); }
  void require_guards() const {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if (i < at_ || i >= at_ + size_) require(memory_[i] == guard, "nothing written outside");
  }

 private:
  static constexpr std::size_t margin = 64;
  std::vector<std::uint8_t> memory_;
  std::size_t at_, size_;
};

template <class T>
[[nodiscard]] bool is_code(std::int32_t code) {
  return code >= T::qmin && code <= T::qmax;
}

// Bytes become codes and the same bytes again, but for those after the last code.
template <class T, class Pack>
void check_bytes(fuzz::Bytes bytes, std::size_t n, std::size_t offset) {
  Guarded in(bytes.size(), offset), out(bytes.size(), offset / 2);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(in.bytes().data()));
  std::vector<typename T::code_type> codes(n, 77), expected;
  if constexpr (Pack::order == BitOrder::digits) expected = digits(bytes, n);
  else expected = unpacked<T, Pack>(bytes, n);
  bool fits = true;
  for (const auto code : expected) fits = fits && is_code<T>(code);
  if constexpr (Pack::order == BitOrder::digits)
    for (const std::uint8_t b : bytes) fits = fits && b <= 242;
  const bool accepted = accepts([&] { unpack<T, Pack>(in.bytes(), codes); });
  require(accepted == fits, "codes of the type, and no others");
  if (!accepted) expected.assign(n, 77);
  require(codes == expected, "the codes of the definition, or nothing written");
  if (!accepted) return;
  pack<T, Pack>(codes, out.bytes());
  out.require_guards();
  std::vector<typename T::code_type> again(n);
  unpack<T, Pack>(out.bytes(), again);
  require(again == codes, "the codes that were packed");
  if constexpr (Pack::order != BitOrder::digits) {
    std::vector<std::uint8_t> rest(out.content().begin(), out.content().end());
    for (std::size_t at = 0; at < n * std::size_t{T::bits}; ++at) {
      const std::size_t bit = place<T, Pack>(at / T::bits, at % T::bits);
      const auto mask = static_cast<std::uint8_t>(1u << bit % 8);
      require((rest[bit / 8] & mask) == (bytes[bit / 8] & mask), "the bits that were read");
      rest[bit / 8] = static_cast<std::uint8_t>(rest[bit / 8] & ~mask);
    }
    for (const std::uint8_t b : rest) require(b == 0, "zeros after the last code");
  }
}

// Codes, of the type or not: what is packed is what comes back, without the bits there is no room
// for.
template <class T, class Pack>
void check_codes(fuzz::Bytes bytes, std::size_t n, std::size_t offset) {
  fuzz::Input input(bytes);
  auto codes = input.many<typename T::code_type>(n);
  Guarded out(Pack::template bytes_for<T>(n), offset);
  pack<T, Pack>(codes, out.bytes());
  out.require_guards();
  std::vector<typename T::code_type> again(n);
  unpack_unchecked<T, Pack>(out.bytes(), again);
  for (std::size_t i = 0; i < n; ++i) {
    std::int32_t code = codes[i];
    if constexpr (Pack::order == BitOrder::digits) {
      code = std::clamp<std::int32_t>(code, T::qmin, T::qmax);
    } else if constexpr (!is_unpacked<Pack, T>) {
      code &= (1 << T::bits) - 1;
      if (T::qmin < 0 && code >> (T::bits - 1) != 0) code -= 1 << T::bits;
    }
    require(again[i] == code, "the code that was packed");
  }
}

template <class T, class Pack>
void check(fuzz::Bytes bytes, std::size_t cut, std::size_t offset) {
  constexpr std::size_t bits = std::size_t{T::bits};
  std::size_t n = Pack::order == BitOrder::digits ? bytes.size() * 5 : bytes.size() * 8 / bits;
  n -= std::min(n, cut);
  const std::size_t size = Pack::template bytes_for<T>(n);
  check_bytes<T, Pack>(bytes.first(size), n, offset);
  check_codes<T, Pack>(bytes, bytes.size() / sizeof(typename T::code_type), offset);
  std::vector<typename T::code_type> codes(n);
  if (size != bytes.size())
    require(!accepts([&] { unpack<T, Pack>(std::as_bytes(bytes), codes); }),
            "bytes of the right number only");
}

using Check = void (*)(fuzz::Bytes, std::size_t, std::size_t);
template <class T>
constexpr std::array<Check, 2> orders{&check<T, LowFirst>, &check<T, HighFirst>};
constexpr std::array<std::array<Check, 2>, 15> types{
    orders<int2>,  orders<int3>,  orders<int4>,  orders<int5>,  orders<int6>,
    orders<int7>,  orders<int8>,  orders<uint2>, orders<uint3>, orders<uint4>,
    orders<uint5>, orders<uint6>, orders<uint7>, orders<uint8>, orders<ternary>,
};

// Two bytes choose type, packing, how many codes there are fewer and where the bytes begin.
const fuzz::Target pack_target("pack", [](fuzz::Bytes bytes) {
  fuzz::Input in(bytes);
  const std::size_t type = in.below(types.size() * 2 + 1);
  const auto b = in.take<std::uint8_t>();
  const std::size_t cut = b % 16u, offset = b / 16u;
  if (type == types.size() * 2) check<ternary, FiveInByte>(in.rest(), cut, offset);
  else types[type / 2][type % 2](in.rest(), cut, offset);
});

}  // namespace
