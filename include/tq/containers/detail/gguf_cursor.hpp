// SPDX-License-Identifier: MIT
#pragma once
// GgufCursor: reads the header of a GGUF file front to back.

#include <tq/bodies.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/error.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/little_endian.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace tq::io::detail {

// Numbers, strings and values from a place that moves on. Nothing is allocated before the file is
// known to have that many bytes left.
class GgufCursor {
 public:
  explicit GgufCursor(const ByteSource& source) : source_(&source) {}

  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return source_->size() - offset_; }
  void swap_bytes(bool swap) noexcept { swap_ = swap; }
  // The subject of later messages, such as a key.
  void set_item(std::string item) { item_ = std::move(item); }

  [[noreturn]] TQ_API void refuse(std::string_view expected, std::string_view got) const;
  [[noreturn]] TQ_API void refuse_at(std::uint64_t offset, std::string_view expected,
                                     std::string_view got) const;

  template <class T>
  [[nodiscard]] T number(std::string_view what) {
    item_start_ = offset_;
    std::array<std::byte, sizeof(T)> raw;
    bytes(what, raw);
    if (swap_) std::reverse(raw.begin(), raw.end());
    return load_le<T>(raw.data());
  }

  // A count of things that take at least `least` bytes each.
  [[nodiscard]] TQ_API std::uint64_t count(std::string_view what, std::uint64_t least);

  [[nodiscard]] TQ_API std::string text(std::string_view what);

  // The number of a type of values.
  [[nodiscard]] TQ_API std::size_t value_type();

  [[nodiscard]] TQ_API GgufValue value();

 private:
  // Makes the alternative of that place, and calls f(it).
  template <std::size_t I = 0, class Variant, class F>
  static void emplace_at(Variant& variant, std::size_t place, F&& f) {
    if (place == I) f(variant.template emplace<I>());
    else if constexpr (I + 1 < std::variant_size_v<Variant>) emplace_at<I + 1>(variant, place, f);
  }

  template <class T>
  [[nodiscard]] T element() {
    if constexpr (std::is_same_v<T, std::string>) {
      return text("a string");
    } else if constexpr (std::is_same_v<T, bool>) {
      const auto byte = number<std::uint8_t>("a bool");
      if (byte > 1) refuse("a bool of 0 or 1", std::to_string(byte));
      return byte != 0;
    } else {
      return number<T>("a value");
    }
  }

  [[nodiscard]] TQ_API GgufArray array();

  TQ_API void bytes(std::string_view what, std::span<std::byte> out);
  TQ_API void refill();

  const ByteSource* source_;
  std::uint64_t offset_ = 0, item_start_ = 0, window_start_ = 0;
  std::size_t window_used_ = 0;
  bool swap_ = false;
  std::string item_;
  std::array<std::byte, 4096> window_;
};

}  // namespace tq::io::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/detail/gguf_cursor.ipp>
#endif
