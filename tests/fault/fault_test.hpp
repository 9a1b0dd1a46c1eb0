// SPDX-License-Identifier: MIT
#pragma once
// Common parts of the tests of faults: a tensor as a file of every kind, and its writers.

#include <tq/containers/npy.hpp>
#include <tq/containers/npz_writer.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/store/save.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "unit/files/io_test.hpp"

namespace fault {

/// n bytes that differ by `seed`.
[[nodiscard]] inline tq::io::Tensor tensor(std::size_t n, unsigned seed) {
  tq::io::Tensor t{"w", tq::io::DType::u8, {n}, std::vector<std::byte>(n)};
  for (std::size_t i = 0; i < n; ++i) t.bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
  return t;
}

/// A kind of file, and how it is written; `half_way` is called when half of the data is.
struct Format {
  const char* file;
  void (*write)(const std::filesystem::path&, const tq::io::Tensor&, void (*half_way)());
};

inline void nothing() {}

inline void write_npy(const std::filesystem::path& path, const tq::io::Tensor& t,
                      void (*half_way)()) {
  half_way();  // it is written by one call
  tq::io::write_npy(path, t);
}
inline void write_npz(const std::filesystem::path& path, const tq::io::Tensor& t,
                      void (*half_way)()) {
  tq::io::NpzWriter writer(path);
  writer.add(t);
  half_way();
  tq::io::Tensor other = t;
  other.name = "v";
  writer.add(other);
  writer.finish();
}
inline void write_safetensors(const std::filesystem::path& path, const tq::io::Tensor& t,
                              void (*half_way)()) {
  const std::array declared{tq::io::TensorDecl{t.name, t.dtype, t.shape}};
  tq::io::SafetensorsWriter writer(path, declared);
  const auto bytes = std::span<const std::byte>(t.bytes);
  writer.append(t.name, bytes.first(bytes.size() / 2));
  half_way();
  writer.append(t.name, bytes.subspan(bytes.size() / 2));
  writer.finish();
}
// The bytes as codes of a quantized tensor.
inline void write_saved(const std::filesystem::path& path, const tq::io::Tensor& t,
                        void (*half_way)()) {
  tq::EncodedTensor e{{.type = "int8", .granularity = "per_tensor"},
                      tq::Shape{t.bytes.size()},
                      tq::Buffer<std::byte>(t.bytes.size()),
                      tq::Scales<float>{1.0f},
                      {},
                      {}};
  std::copy(t.bytes.begin(), t.bytes.end(), e.codes.data());
  half_way();  // it is written by one call
  tq::save<tq::TypeList<tq::int8>, tq::TypeList<float>>(path, {{t.name, std::move(e)}});
}
inline void write_bytes(const std::filesystem::path& path, const tq::io::Tensor& t,
                        void (*half_way)()) {
  tq::io::AtomicFile file(path);
  const auto bytes = std::span<const std::byte>(t.bytes);
  file.write(bytes.first(bytes.size() / 2));
  file.flush();
  half_way();
  file.write(bytes.subspan(bytes.size() / 2));
  file.commit();
}

inline constexpr std::array formats{Format{"w.npy", &write_npy}, Format{"w.npz", &write_npz},
                                    Format{"w.safetensors", &write_safetensors},
                                    Format{"saved.safetensors", &write_saved},
                                    Format{"w.bin", &write_bytes}};

}  // namespace fault
