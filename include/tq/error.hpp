// SPDX-License-Identifier: MIT
#pragma once
// How tq reports bad input: an error code, an exception that carries it, one function that throws,
// and the formula of its texts.

#include <tq/config.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tq {

/// The code of an error. `check()` functions return it; exceptions carry it.
enum class errc : std::uint8_t {
  ok = 0,
  rank_too_large,  ///< a shape of more than tq::max_rank dimensions
  shape_mismatch,  ///< two shapes or sizes that must agree do not
  not_contiguous,  ///< a strided view where contiguous memory is needed
  bad_axis,        ///< an axis outside [-rank, rank)
  bad_group_size,  ///< a group or block size below 1
  bad_scale,       ///< a scale that is zero, negative, NaN or infinite
  bad_zero_point,  ///< a zero point outside the code range
  no_data,         ///< parameters wanted from an observer that saw no finite value
  not_finite,      ///< NaN or infinity where the policy forbids it
  unknown_name,    ///< a name (element type, granularity, preset, ...) that does not exist
  bad_argument,    ///< any other argument out of its domain
  malformed,       ///< a file or document that breaks its format
  unsupported,     ///< well-formed, but not something tq can represent
  io_failure,      ///< the operating system refused to read or write
  out_of_range,    ///< a value outside the range that was observed before
  singular,        ///< a matrix that has no factor
};

/// The name of an error code, as written in `errc`.
[[nodiscard]] constexpr const char* to_string(errc code) noexcept {
  switch (code) {
    case errc::ok: return "ok";
    case errc::rank_too_large: return "rank_too_large";
    case errc::shape_mismatch: return "shape_mismatch";
    case errc::not_contiguous: return "not_contiguous";
    case errc::bad_axis: return "bad_axis";
    case errc::bad_group_size: return "bad_group_size";
    case errc::bad_scale: return "bad_scale";
    case errc::bad_zero_point: return "bad_zero_point";
    case errc::no_data: return "no_data";
    case errc::not_finite: return "not_finite";
    case errc::unknown_name: return "unknown_name";
    case errc::bad_argument: return "bad_argument";
    case errc::malformed: return "malformed";
    case errc::unsupported: return "unsupported";
    case errc::io_failure: return "io_failure";
    case errc::out_of_range: return "out_of_range";
    case errc::singular: return "singular";
  }
  return "unknown";
}

/// The only exception tq throws of its own. Its text names the function, what was expected and what
/// came.
class error : public std::runtime_error {
 public:
  error(errc code, const std::string& what) : std::runtime_error(what), code_(code) {}
  [[nodiscard]] errc code() const noexcept { return code_; }

 private:
  errc code_;
};

namespace detail {
// A number as messages show it, however small.
[[nodiscard]] inline std::string number_text(float v) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(v));
  return text;
}
}  // namespace detail

/// Every throw of tq goes through here. Under `-fno-exceptions` it is declared only: the program
/// defines it, and its definition must not return.
#if TQ_HAS_EXCEPTIONS
[[noreturn]] inline void raise(errc code, const std::string& what) { throw error(code, what); }
#else
[[noreturn]] void raise(errc code, const std::string& what);
#endif

namespace detail {

// A part of an error text, as data: a call that throws makes no strings. It views its text, so it
// must not outlive the call.
class TextPart {
 public:
  constexpr TextPart(const char* text) noexcept : TextPart(std::string_view(text)) {}
  constexpr TextPart(std::string_view text) noexcept
      : data_(text.data()), number_(text.size()), kind_(Kind::text) {}
  TextPart(const std::string& text) noexcept : TextPart(std::string_view(text)) {}
  constexpr TextPart(int n) noexcept : TextPart(static_cast<long long>(n)) {}
  constexpr TextPart(long n) noexcept : TextPart(static_cast<long long>(n)) {}
  constexpr TextPart(long long n) noexcept
      : number_(static_cast<unsigned long long>(n)), kind_(Kind::integer) {}
  constexpr TextPart(unsigned n) noexcept : TextPart(static_cast<unsigned long long>(n)) {}
  constexpr TextPart(unsigned long n) noexcept : TextPart(static_cast<unsigned long long>(n)) {}
  constexpr TextPart(unsigned long long n) noexcept : number_(n), kind_(Kind::natural) {}
  // As "%g".
  constexpr TextPart(float x) noexcept
      : number_(std::bit_cast<std::uint32_t>(x)), kind_(Kind::real) {}
  // As "[2, 3]", the extents of a shape.
  constexpr TextPart(std::span<const std::size_t> extents) noexcept
      : data_(extents.data()), number_(extents.size()), kind_(Kind::extents) {}
  [[nodiscard]] static constexpr TextPart in_quotes(std::string_view text) noexcept {
    TextPart part(text);
    part.kind_ = Kind::quoted;
    return part;
  }
  TextPart(char) = delete;  // would be a number
  TextPart(bool) = delete;

  void append_to(std::string& out) const {
    if (kind_ == Kind::text) {
      out.append(static_cast<const char*>(data_), static_cast<std::size_t>(number_));
    } else if (kind_ == Kind::quoted) {
      out.append("\"").append(static_cast<const char*>(data_), static_cast<std::size_t>(number_));
      out += '"';
    } else if (kind_ == Kind::integer) {
      out += std::to_string(static_cast<long long>(number_));
    } else if (kind_ == Kind::natural) {
      out += std::to_string(number_);
    } else if (kind_ == Kind::real) {
      out += number_text(std::bit_cast<float>(static_cast<std::uint32_t>(number_)));
    } else {
      const auto* extents = static_cast<const std::size_t*>(data_);
      out += '[';
      for (unsigned long long i = 0; i < number_; ++i)
        out.append(i == 0 ? "" : ", ").append(std::to_string(extents[i]));
      out += ']';
    }
  }

 private:
  enum class Kind : std::uint8_t { text, quoted, integer, natural, real, extents };
  const void* data_ = nullptr;
  unsigned long long number_ = 0;  // or the bits of the float, or the length of text or extents
  Kind kind_;
};

[[nodiscard]] constexpr TextPart in_quotes(std::string_view text) noexcept {
  return TextPart::in_quotes(text);
}

using TextParts = std::initializer_list<TextPart>;

// Throws an error whose text is the parts, one behind the other.
[[noreturn]] TQ_RARE inline void raise_text(errc code, TextParts parts) {
  std::string text;
  for (const TextPart& part : parts) part.append_to(text);
  raise(code, text);
}

// Throws "<where>: expected <expected>, got <got>"; an empty place is left out.
[[noreturn]] TQ_RARE inline void raise_expected(errc code, TextPart where, TextParts expected,
                                                TextParts got) {
  std::string text;
  where.append_to(text);
  text += text.empty() ? "expected " : ": expected ";
  for (const TextPart& part : expected) part.append_to(text);
  text += ", got ";
  for (const TextPart& part : got) part.append_to(text);
  raise(code, text);
}

}  // namespace detail

}  // namespace tq
