// SPDX-License-Identifier: MIT
#pragma once
// Writing NumPy .npz archives with stored members, as numpy.savez does.

#include <tq/bodies.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/atomic_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace tq::io {

/// Writes an .npz archive atomically, one member at a time; zip64 fields appear where they are
/// needed.
///
///     NpzWriter writer(path);
///     writer.add(tensor);
///     writer.finish();   // without it the target keeps its old content
class NpzWriter {
 public:
  /// Throws: `errc::io_failure`.
  explicit NpzWriter(const std::filesystem::path& path, Links links = Links::followed)
      : file_(path, links) {}

  /// Appends `<tensor.name>.npy`. Throws: `errc::bad_argument` for a name that is empty, repeated,
  /// not UTF-8 or too long; `errc::unsupported` for a type .npy cannot name;
  /// `errc::shape_mismatch`; `errc::io_failure`.
  TQ_API void add(const Tensor& tensor);

  /// Writes the directory and makes the file visible under its name. Throws: `errc::io_failure`.
  TQ_API void finish();

 private:
  struct Member {
    std::string name;
    std::uint32_t crc;
    std::uint64_t size;
    std::uint64_t offset;
  };
  static constexpr std::uint64_t limit32 = 0xffffffffu;

  template <class T>
  static void put(std::vector<std::byte>& out, T value) {
    static_assert(std::is_unsigned_v<T>);
    out.resize(out.size() + sizeof(T));
    store_le(out.data() + out.size() - sizeof(T), value);
  }
  TQ_API static void put_text(std::vector<std::byte>& out, const std::string& text);
  // Version needed, flags (UTF-8 name), method 0, time 0 of 1 January 1980, checksum.
  TQ_API static void put_common(std::vector<std::byte>& out, const Member& m, int version);
  TQ_API static void put_sizes(std::vector<std::byte>& out, const Member& m, bool wide);

  TQ_API void write_end(std::uint64_t begin);

  TQ_API static std::uint32_t crc32_of(std::uint32_t crc, std::span<const std::byte> bytes);

  AtomicFile file_;
  std::vector<Member> members_;
  std::unordered_set<std::string> names_;
};

/// Writes tensors that are all in memory. Throws: as `NpzWriter`.
TQ_API void write_npz(const std::filesystem::path& path, std::span<const Tensor> tensors);

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/npz_writer.ipp>
#endif
