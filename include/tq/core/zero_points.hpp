// SPDX-License-Identifier: MIT
#pragma once
// Zero points as they are stored: codes of their element.

#include <tq/core/detail/decoded_view.hpp>
#include <tq/core/element.hpp>
#include <tq/core/packing.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

/// The zero points of a tensor: codes of `Type`, packed as by `LowFirst` where these have fewer
/// than 8 bits, else one `code_type` each.
template <IntegerElement Type>
class ZeroPoints {
 public:
  using type = Type;
  static constexpr bool is_packed = Type::bits < 8;
  using stored_type = std::conditional_t<is_packed, std::byte, typename Type::code_type>;

  ZeroPoints() = default;
  /// Precondition: they are codes of `Type`.
  explicit ZeroPoints(std::span<const std::int32_t> zero_points)
      : stored_(is_packed ? LowFirst::bytes_for<Type>(zero_points.size()) : zero_points.size()),
        size_(zero_points.size()) {
    for (std::size_t i = 0; i < size_; ++i) put(i, zero_points[i]);
  }
  ZeroPoints(const ZeroPoints&) = default;
  ZeroPoints(ZeroPoints&& other) noexcept
      : stored_(std::move(other.stored_)), size_(std::exchange(other.size_, 0)) {}
  ZeroPoints& operator=(ZeroPoints other) noexcept {
    std::swap(stored_, other.stored_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~ZeroPoints() = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The bytes of packed ones, else the codes.
  [[nodiscard]] std::span<const stored_type> stored() const noexcept { return stored_; }
  /// The numbers themselves.
  [[nodiscard]] auto values() const noexcept { return DecodedView(Decode{stored_.data()}, size_); }
  friend bool operator==(const ZeroPoints&, const ZeroPoints&) = default;

 private:
  static constexpr std::size_t bits = Type::bits;
  static constexpr std::int32_t every_bit = (1 << (is_packed ? bits : 8)) - 1;  // of a packed code

  struct Decode {
    const stored_type* stored = nullptr;
    std::int32_t operator()(std::size_t i) const noexcept {
      if constexpr (is_packed) {
        constexpr std::int32_t sign = Type::qmin < 0 ? 1 << (bits - 1) : 0;
        const std::size_t byte = i * bits / 8, shift = i * bits % 8;
        std::int32_t code = std::to_integer<std::int32_t>(stored[byte]) >> shift;
        if (shift + bits > 8)
          code |= std::to_integer<std::int32_t>(stored[byte + 1]) << (8 - shift);
        return ((code & every_bit) ^ sign) - sign;
      } else {
        return stored[i];
      }
    }
  };

  void put(std::size_t i, std::int32_t zero_point) noexcept {
    if constexpr (is_packed) {
      const std::size_t byte = i * bits / 8, shift = i * bits % 8;
      const auto code = static_cast<unsigned>(zero_point & every_bit) << shift;
      stored_[byte] |= static_cast<std::byte>(code & 255u);
      if (shift + bits > 8) stored_[byte + 1] |= static_cast<std::byte>(code >> 8);
    } else {
      stored_[i] = static_cast<stored_type>(zero_point);
    }
  }

  std::vector<stored_type> stored_;
  std::size_t size_ = 0;
};

}  // namespace tq
