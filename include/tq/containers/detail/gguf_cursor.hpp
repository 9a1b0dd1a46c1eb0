// SPDX-License-Identifier: MIT
#pragma once
// GgufCursor: reads the header of a GGUF file front to back.

#include <tq/containers/gguf_value.hpp>
#include <tq/error.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/files/utf8.hpp>

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

  [[noreturn]] void refuse(std::string_view expected, std::string_view got) const {
    refuse_at(item_start_, expected, got);
  }
  [[noreturn]] void refuse_at(std::uint64_t offset, std::string_view expected,
                              std::string_view got) const {
    fail(errc::malformed, "tq::io::GgufReader", source_->name(), item_,
         expected_got(expected, got) + ", at offset " + std::to_string(offset));
  }

  template <class T>
  [[nodiscard]] T number(std::string_view what) {
    item_start_ = offset_;
    std::array<std::byte, sizeof(T)> raw;
    bytes(what, raw);
    if (swap_) std::reverse(raw.begin(), raw.end());
    return load_le<T>(raw.data());
  }

  // A count of things that take at least `least` bytes each.
  [[nodiscard]] std::uint64_t count(std::string_view what, std::uint64_t least) {
    const auto n = number<std::uint64_t>(what);
    if (n > left() / least)
      refuse("at most " + std::to_string(left() / least) + " " + std::string(what) +
                 ", as the rest of the file can hold",
             std::to_string(n));
    return n;
  }

  [[nodiscard]] std::string text(std::string_view what) {
    const std::uint64_t length = count("bytes of " + std::string(what), 1), start = item_start_;
    std::string out(static_cast<std::size_t>(length), '\0');
    bytes(what, std::as_writable_bytes(std::span<char>(out)));
    item_start_ = start;
    if (!is_utf8(out)) refuse("UTF-8 in " + std::string(what), shown(out));
    return out;
  }

  // The number of a type of values.
  [[nodiscard]] std::size_t value_type() {
    const auto type = number<std::uint32_t>("a type of value");
    if (type >= gguf_value_types.size()) refuse("a type of value up to 12", std::to_string(type));
    return type;
  }

  [[nodiscard]] GgufValue value() {
    const std::size_t type = value_type();
    GgufValue out;
    emplace_at(out, type, [&]<class T>(T& held) {
      if constexpr (std::is_same_v<T, GgufArray>) held = array();
      else held = element<T>();
    });
    return out;
  }

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

  [[nodiscard]] GgufArray array() {
    const std::size_t type = value_type();
    if (type == gguf_array_type) refuse("an array of numbers, bools or strings", "one of arrays");
    const std::uint64_t size = count("elements of an array", gguf_value_bytes[type]);
    GgufArray out;
    emplace_at(out, type, [&]<class V>(V& values) {
      if constexpr (!std::is_same_v<V, std::monostate>) {
        values.reserve(static_cast<std::size_t>(size));
        for (std::uint64_t i = 0; i < size; ++i)
          values.push_back(element<typename V::value_type>());
      }
    });
    return out;
  }

  void bytes(std::string_view what, std::span<std::byte> out) {
    if (out.size() > left())
      refuse_at(offset_, std::to_string(out.size()) + " bytes of " + std::string(what),
                std::to_string(left()) + " (the file ends before: is it cut off?)");
    if (out.size() >= window_.size()) {
      source_->read(offset_, out);
    } else {
      if (offset_ < window_start_ || offset_ + out.size() > window_start_ + window_used_) refill();
      std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(offset_ - window_start_),
                  out.size(), out.begin());
    }
    offset_ += out.size();
  }
  void refill() {
    window_start_ = offset_;
    window_used_ = static_cast<std::size_t>(std::min<std::uint64_t>(window_.size(), left()));
    source_->read(offset_, std::span(window_).first(window_used_));
  }

  const ByteSource* source_;
  std::uint64_t offset_ = 0, item_start_ = 0, window_start_ = 0;
  std::size_t window_used_ = 0;
  bool swap_ = false;
  std::string item_;
  std::array<std::byte, 4096> window_;
};

}  // namespace tq::io::detail
