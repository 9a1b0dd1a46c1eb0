// SPDX-License-Identifier: MIT
#pragma once
// Files of the format GGUF made byte by byte, in either byte order: an oracle without the writer.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace gguf_test {

class Bytes {
 public:
  explicit Bytes(bool big_endian = false) : big_endian_(big_endian) {}

  template <class T>
  Bytes& number(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    if (big_endian_) std::reverse(raw, raw + sizeof(T));
    out_.append(raw, sizeof(T));
    return *this;
  }
  Bytes& u32(std::uint32_t v) { return number(v); }
  Bytes& u64(std::uint64_t v) { return number(v); }
  Bytes& text(const std::string& t) {
    u64(t.size());
    out_ += t;
    return *this;
  }
  Bytes& raw(const std::string& bytes) {
    out_ += bytes;
    return *this;
  }
  Bytes& header(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    return raw("GGUF").u32(version).u64(tensors).u64(keys);
  }
  Bytes& tensor(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                std::uint64_t offset) {
    text(name).u32(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t d : dims) u64(d);
    return u32(type).u64(offset);
  }
  Bytes& pad(std::size_t alignment = 32) {
    out_.append((alignment - out_.size() % alignment) % alignment, '\0');
    return *this;
  }

  [[nodiscard]] const std::string& str() const { return out_; }
  [[nodiscard]] std::span<const std::byte> span() const {
    return std::as_bytes(std::span<const char>(out_));
  }

 private:
  bool big_endian_;
  std::string out_;
};

}  // namespace gguf_test
