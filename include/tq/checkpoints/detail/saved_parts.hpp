// SPDX-License-Identifier: MIT
#pragma once
// The parts of a weight as tensors of a file, from their declarations and bytes.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/little_endian.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io::detail {

// Throws `errc::unsupported`: what a format can hold, and what a weight has instead.
[[noreturn]] inline void refuse_saving(std::string_view format, const std::string& expected,
                                       const std::string& got) {
  tq::detail::raise_expected(errc::unsupported, format, {expected, " to be saved"}, {got});
}

using Bytes = std::vector<std::byte>;

[[nodiscard]] inline Bytes copied(std::span<const std::byte> bytes) {
  return Bytes(bytes.begin(), bytes.end());
}

// Numbers as little-endian bytes.
template <class T>
[[nodiscard]] Bytes bytes_of_values(std::span<const T> values) {
  return from_values<T>({}, {values.size()}, values).bytes;
}

// Floats as `dtype` stores them. Throws: `errc::unsupported` unless each is stored exactly.
[[nodiscard]] inline Bytes exact_bytes(std::string_view format, const char* what,
                                       std::span<const float> values, DType dtype) {
  Bytes out(bytes_of(dtype, values.size()));
  from_float32(values, dtype, out);
  std::vector<float> read(values.size());
  to_float32(dtype, out, read);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (read[i] != values[i])
      refuse_saving(format, std::string(what) + " that " + std::string(to_string(dtype)) + " holds",
                    tq::detail::number_text(values[i]) + " at element " + std::to_string(i));
  return out;
}

// The declared tensors, one of each element of `bytes`. Precondition: the sizes are those declared.
[[nodiscard]] inline std::vector<Tensor> saved_parts(const std::vector<TensorDecl>& declared,
                                                     std::vector<Bytes> bytes) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    out.push_back({declared[i].name, declared[i].dtype, declared[i].shape, std::move(bytes.at(i))});
    (void)checked_count("tq::format", out.back());
  }
  return out;
}

}  // namespace tq::io::detail
