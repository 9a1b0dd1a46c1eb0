// SPDX-License-Identifier: MIT
#pragma once
// The header of a safetensors file: parsed event by event against its schema, its layout checked.

#include <tq/bodies.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/failure.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

/// The text pairs under `__metadata__`.
using Metadata = std::map<std::string, std::string>;

/// The largest header a reader accepts, as in the reference reader.
inline constexpr std::uint64_t safetensors_max_header = 100'000'000;

/// True for what a tensor in a safetensors file can be called.
[[nodiscard]] TQ_API bool is_tensor_name(std::string_view name) noexcept;

namespace detail {

// Base of strict readers of JSON events: every event that is not overridden is refused, so nesting
// is bounded by the schema and memory by what is kept.
class StrictSax : public nlohmann::json_sax<nlohmann::json> {
 public:
  using json = nlohmann::json;
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  // Bytes up to an error of syntax, or 0 where the error is another.
  [[nodiscard]] std::size_t error_position() const noexcept { return error_position_; }

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(number_integer_t) override { return refuse("a negative integer"); }
  bool number_unsigned(number_unsigned_t) override { return refuse("an integer"); }
  TQ_API bool number_float(number_float_t, const string_t&) override;
  bool string(string_t&) override { return refuse("a string"); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool start_array(std::size_t) override { return refuse("an array"); }
  bool start_object(std::size_t) override { return refuse("an object"); }
  TQ_API bool parse_error(std::size_t position, const std::string& token,
                          const json::exception&) override;

  // Parses the whole text. A NUL byte, which the lexer would take for the end, is refused first.
  [[nodiscard]] TQ_API bool run(std::string_view text);

 protected:
  // The subject of the current event ("\"x\": "), and the value that would have been right.
  [[nodiscard]] virtual std::string subject() const = 0;
  [[nodiscard]] virtual std::string wanted() const = 0;
  bool refuse(std::string_view got) { return stop(subject() + expected_got(wanted(), got)); }
  TQ_API bool stop(std::string message);

 private:
  std::string message_;
  std::size_t error_position_ = 0;
};

// Whether every tensor has a name of its own is left to the caller, who needs an index of them.
class SafetensorsSax final : public StrictSax {
 public:
  std::vector<TensorInfo> tensors;             // offsets relative to the data buffer
  std::map<std::string, std::string> unknown;  // by name: types that are not read
  Metadata metadata;

  TQ_API bool start_object(std::size_t) override;
  TQ_API bool key(string_t& name) override;
  TQ_API bool end_object() override;
  TQ_API bool null() override;
  TQ_API bool string(string_t& text) override;
  TQ_API bool start_array(std::size_t) override;
  TQ_API bool end_array() override;
  TQ_API bool number_unsigned(number_unsigned_t value) override;

 private:
  enum class Place { document, top, metadata, tensor, shape, offsets, done };

  [[nodiscard]] TQ_API static std::string twice(std::string_view what);
  [[nodiscard]] TQ_API std::string subject() const override;
  [[nodiscard]] TQ_API std::string wanted() const override;

  Place place_ = Place::document;
  std::string key_;
  bool has_metadata_ = false;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  int offset_count_ = 0;
};

// Sorts tensors by the place of their data, those of one place in the order of the header; most
// files have them so. std::stable_sort of libstdc++ 12 warns under clang 19.
TQ_API void sort_by_place(std::vector<TensorInfo>& tensors);

// Checks that tensors in the order of their places tile [0, buffer) and that each whose type is not
// `unknown` has the size of its shape, and turns (begin, end) into (file offset, size).
TQ_API void check_safetensors_layout(std::vector<TensorInfo>& tensors,
                                     const std::map<std::string, std::string>& unknown,
                                     std::uint64_t buffer, std::uint64_t data_offset,
                                     std::string_view file);

}  // namespace detail
}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/safetensors_header.ipp>
#endif
