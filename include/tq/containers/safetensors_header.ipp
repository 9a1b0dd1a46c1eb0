// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/safetensors_header.hpp.

#include <tq/containers/safetensors_header.hpp>
#include <tq/files/utf8.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace tq::io {

TQ_API bool is_tensor_name(std::string_view name) noexcept {
  return name != "__metadata__" && is_utf8(name);
}

namespace detail {

TQ_API bool StrictSax::number_float(number_float_t, const string_t&) {
  return refuse("a number that is not a 64-bit integer");
}

TQ_API bool StrictSax::parse_error(std::size_t position, const std::string& token,
                                   const json::exception&) {
  message_ = expected_got("JSON", "an error near " + shown(token)) + ", at offset " +
             std::to_string(position) + " of the JSON text";
  error_position_ = position;
  return false;
}

TQ_API bool StrictSax::run(std::string_view text) {
  if (const std::size_t at = text.find('\0'); at != text.npos) {
    message_ = expected_got("JSON", "a NUL byte") + ", at offset " + std::to_string(at) +
               " of the JSON text";
    return false;
  }
  return json::sax_parse(text.begin(), text.end(), this);
}

TQ_API bool StrictSax::stop(std::string message) {
  message_ = std::move(message);
  return false;
}

TQ_API bool SafetensorsSax::start_object(std::size_t) {
  if (place_ == Place::document) {
    place_ = Place::top;
  } else if (place_ == Place::top && key_ == "__metadata__") {
    place_ = Place::metadata;
  } else if (place_ == Place::top) {
    place_ = Place::tensor;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    tensors.push_back({key_, DType::f32, {}, 0, 0});
  } else {
    return refuse("an object");
  }
  return true;
}

TQ_API bool SafetensorsSax::key(string_t& name) {
  if (place_ == Place::top) {
    if (name == "__metadata__" && std::exchange(has_metadata_, true))
      return stop(shown(name) + ": " + twice("name"));
    key_ = name;
  } else if (place_ == Place::metadata) {
    if (metadata.contains(name)) return stop("__metadata__: " + shown(name) + ": " + twice("key"));
    key_ = name;
  } else {
    const bool known = name == "dtype" || name == "shape" || name == "data_offsets";
    if (!known) return stop(subject() + expected_got("dtype, shape or data_offsets", shown(name)));
    bool& seen = name == "dtype" ? has_dtype_ : name == "shape" ? has_shape_ : has_offsets_;
    if (std::exchange(seen, true)) return stop(subject() + shown(name) + ": " + twice("field"));
    key_ = name;
  }
  return true;
}

TQ_API bool SafetensorsSax::end_object() {
  if (place_ == Place::top) {
    place_ = Place::done;
    return true;
  }
  if (place_ == Place::tensor && !(has_dtype_ && has_shape_ && has_offsets_))
    return stop(subject() +
                expected_got("dtype, shape and data_offsets",
                             "an entry without " + std::string(!has_dtype_   ? "dtype"
                                                               : !has_shape_ ? "shape"
                                                                             : "data_offsets")));
  place_ = Place::top;
  return true;
}

TQ_API bool SafetensorsSax::null() {
  return (place_ == Place::top && key_ == "__metadata__") || refuse("null");
}

TQ_API bool SafetensorsSax::string(string_t& text) {
  if (place_ == Place::metadata) {
    metadata.emplace(key_, std::move(text));
    return true;
  }
  if (place_ != Place::tensor || key_ != "dtype") return refuse("a string");
  const std::optional<DType> dtype = dtype_from_safetensors(text);
  if (!dtype) unknown.insert_or_assign(tensors.back().name, text);
  else tensors.back().dtype = *dtype;
  return true;
}

TQ_API bool SafetensorsSax::start_array(std::size_t) {
  if (place_ != Place::tensor || key_ == "dtype") return refuse("an array");
  place_ = key_ == "shape" ? Place::shape : Place::offsets;
  offset_count_ = 0;
  return true;
}

TQ_API bool SafetensorsSax::end_array() {
  if (place_ == Place::offsets && offset_count_ != 2)
    return stop(subject() + expected_got("two data_offsets", std::to_string(offset_count_)));
  place_ = Place::tensor;
  return true;
}

TQ_API bool SafetensorsSax::number_unsigned(number_unsigned_t value) {
  if (place_ == Place::shape) {
    if (value > std::numeric_limits<std::size_t>::max())
      return refuse("an extent too large for this machine");
    tensors.back().shape.push_back(static_cast<std::size_t>(value));
    return true;
  }
  if (place_ != Place::offsets) return refuse("an integer");
  // size_bytes holds the end until the layout is checked
  if (++offset_count_ > 2) return stop(subject() + expected_got("two data_offsets", "more"));
  (offset_count_ == 1 ? tensors.back().offset : tensors.back().size_bytes) = value;
  return true;
}

TQ_API std::string SafetensorsSax::twice(std::string_view what) {
  return expected_got("every " + std::string(what) + " once", "it twice");
}

TQ_API std::string SafetensorsSax::subject() const {
  switch (place_) {
    case Place::top: return shown(key_) + ": ";
    case Place::metadata: return "__metadata__: " + shown(key_) + ": ";
    case Place::tensor:
    case Place::shape:
    case Place::offsets: return shown(tensors.back().name) + ": ";
    default: return "";
  }
}

TQ_API std::string SafetensorsSax::wanted() const {
  switch (place_) {
    case Place::document: return "a JSON object";
    case Place::top: return "an object";
    case Place::metadata: return "a string";
    case Place::tensor: return key_ == "dtype" ? "a dtype of the format" : "an array for " + key_;
    case Place::shape: return "unsigned integers in shape";
    case Place::offsets: return "unsigned integers in data_offsets";
    case Place::done: break;
  }
  return "the end of the header";
}

TQ_API void sort_by_place(std::vector<TensorInfo>& tensors) {
  const auto place = [](const TensorInfo& t) { return std::tuple(t.offset, t.size_bytes, &t); };
  const auto comes_before = [&](const TensorInfo* a, const TensorInfo* b) {
    return place(*a) < place(*b);
  };
  std::vector<TensorInfo*> order;
  order.reserve(tensors.size());
  for (TensorInfo& t : tensors) order.push_back(&t);
  if (std::is_sorted(order.begin(), order.end(), comes_before)) return;
  std::sort(order.begin(), order.end(), comes_before);
  std::vector<TensorInfo> sorted;
  sorted.reserve(tensors.size());
  for (TensorInfo* t : order) sorted.push_back(std::move(*t));
  tensors = std::move(sorted);
}

TQ_API void check_safetensors_layout(std::vector<TensorInfo>& tensors,
                                     const std::map<std::string, std::string>& unknown,
                                     std::uint64_t buffer, std::uint64_t data_offset,
                                     std::string_view file) {
  const auto fail_at = [&](std::uint64_t at, std::string_view item, std::string_view expected,
                           std::string_view got) {
    fail(errc::malformed, "tq::io::SafetensorsReader", file, item,
         expected_got(expected, got) + ", at offset " + std::to_string(at));
  };
  const auto kind = [](const TensorInfo& t) {
    return std::string(to_string(t.dtype)) + " " + shape_text(t.shape);
  };
  std::uint64_t end = 0;
  for (TensorInfo& t : tensors) {
    if (t.offset != end)
      fail_at(data_offset, shown(t.name),
              "data to begin at " + std::to_string(end) + " (no hole, no overlap)",
              std::to_string(t.offset));
    if (t.size_bytes < t.offset || t.size_bytes > buffer)
      fail_at(data_offset, shown(t.name),
              "data to end in [" + std::to_string(end) + ", " + std::to_string(buffer) + "]",
              std::to_string(t.size_bytes) +
                  (t.size_bytes > buffer ? " (the file ends before: is it cut off?)" : ""));
    end = t.size_bytes;
    t.size_bytes -= t.offset;
    t.offset += data_offset;
    if (unknown.contains(t.name)) continue;
    const std::optional<std::uint64_t> size = storage_bytes(t.dtype, t.shape);
    if (!size) fail_at(t.offset, shown(t.name), "whole bytes below 2^64 bits", kind(t));
    if (*size != t.size_bytes)
      fail_at(t.offset, shown(t.name), std::to_string(*size) + " bytes for " + kind(t),
              std::to_string(t.size_bytes));
  }
  if (end != buffer)
    fail_at(data_offset, "", std::to_string(end) + " bytes of data", std::to_string(buffer));
}

}  // namespace detail

}  // namespace tq::io
