// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/detail/gguf_cursor.hpp.

#include <tq/containers/detail/gguf_cursor.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/utf8.hpp>

namespace tq::io::detail {

TQ_API void GgufCursor::refuse(std::string_view expected, std::string_view got) const {
  refuse_at(item_start_, expected, got);
}

TQ_API void GgufCursor::refuse_at(std::uint64_t offset, std::string_view expected,
                                  std::string_view got) const {
  fail(errc::malformed, "tq::io::GgufReader", source_->name(), item_,
       expected_got(expected, got) + ", at offset " + std::to_string(offset));
}

TQ_API std::uint64_t GgufCursor::count(std::string_view what, std::uint64_t least) {
  const auto n = number<std::uint64_t>(what);
  if (n > left() / least)
    refuse("at most " + std::to_string(left() / least) + " " + std::string(what) +
               ", as the rest of the file can hold",
           std::to_string(n));
  return n;
}

TQ_API std::string GgufCursor::text(std::string_view what) {
  const std::uint64_t length = count("bytes of " + std::string(what), 1), start = item_start_;
  std::string out(static_cast<std::size_t>(length), '\0');
  bytes(what, std::as_writable_bytes(std::span<char>(out)));
  item_start_ = start;
  if (!is_utf8(out)) refuse("UTF-8 in " + std::string(what), shown(out));
  return out;
}

TQ_API std::size_t GgufCursor::value_type() {
  const auto type = number<std::uint32_t>("a type of value");
  if (type >= gguf_value_types.size()) refuse("a type of value up to 12", std::to_string(type));
  return type;
}

TQ_API GgufValue GgufCursor::value() {
  const std::size_t type = value_type();
  GgufValue out;
  emplace_at(out, type, [&]<class T>(T& held) {
    if constexpr (std::is_same_v<T, GgufArray>) held = array();
    else held = element<T>();
  });
  return out;
}

TQ_API GgufArray GgufCursor::array() {
  const std::size_t type = value_type();
  if (type == gguf_array_type) refuse("an array of numbers, bools or strings", "one of arrays");
  const std::uint64_t size = count("elements of an array", gguf_value_bytes[type]);
  GgufArray out;
  emplace_at(out, type, [&]<class V>(V& values) {
    if constexpr (!std::is_same_v<V, std::monostate>) {
      values.reserve(static_cast<std::size_t>(size));
      for (std::uint64_t i = 0; i < size; ++i) values.push_back(element<typename V::value_type>());
    }
  });
  return out;
}

TQ_API void GgufCursor::bytes(std::string_view what, std::span<std::byte> out) {
  if (out.size() > left())
    refuse_at(offset_, std::to_string(out.size()) + " bytes of " + std::string(what),
              std::to_string(left()) + " (the file ends before: is it cut off?)");
  if (out.size() >= window_.size()) {
    source_->read(offset_, out);
  } else {
    if (offset_ < window_start_ || offset_ + out.size() > window_start_ + window_used_) refill();
    std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(offset_ - window_start_), out.size(),
                out.begin());
  }
  offset_ += out.size();
}

TQ_API void GgufCursor::refill() {
  window_start_ = offset_;
  window_used_ = static_cast<std::size_t>(std::min<std::uint64_t>(window_.size(), left()));
  source_->read(offset_, std::span(window_).first(window_used_));
}

}  // namespace tq::io::detail
