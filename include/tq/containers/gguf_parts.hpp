// SPDX-License-Identifier: MIT
#pragma once
// GgufParts: the GGUF files of a model, which may be split.

#include <tq/bodies.hpp>
#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/error.hpp>

#include <system_error>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

/// The most parts of a model.
inline constexpr std::uint64_t gguf_max_parts = 65535;

/// The name of part 0, 1, ... of a split model: "MODEL-00002-of-00003.gguf" of part 1 of 3.
[[nodiscard]] TQ_API std::string gguf_part_name(std::string_view model, std::uint64_t part,
                                                std::uint64_t count);

/// The keys that say which part a file is, with the types and in the order of llama-gguf-split:
/// `tensors` are those of all parts. Precondition: `part` < `count` <= `gguf_max_parts`, and
/// `tensors` < 2^31.
[[nodiscard]] TQ_API std::vector<GgufEntry> gguf_part_entries(std::uint64_t part,
                                                              std::uint64_t count,
                                                              std::uint64_t tensors);

/// A model in one GGUF file, or in the parts that llama-gguf-split makes of one:
/// "MODEL-00001-of-00003.gguf" and so on in a folder. Keys are in the first part.
class GgufParts {
 public:
  /// Opens a file or, by the name of the first, all parts of a model. Throws: as
  /// `GgufReader::open`; `errc::bad_argument` for a part that is not the first, or that has another
  /// name; `errc::io_failure` for parts that are missing; `errc::malformed` for parts of another
  /// model, for a tensor that is in two of them, and where tensors are missing.
  [[nodiscard]] TQ_API static GgufParts open(const std::filesystem::path& path,
                                             GgufByteOrder order = GgufByteOrder::little);
  /// A model that is one file, which is not looked at for its parts.
  TQ_API explicit GgufParts(GgufReader file);

  /// The files, of which the first has the keys.
  [[nodiscard]] const std::vector<GgufReader>& files() const noexcept { return files_; }
  [[nodiscard]] const std::vector<std::filesystem::path>& paths() const noexcept { return paths_; }
  [[nodiscard]] TQ_API const std::vector<GgufEntry>& entries() const noexcept;

 private:
  [[noreturn]] TQ_API static void refuse(errc code, const std::filesystem::path& path,
                                         const std::string& expected, const std::string& got);
  // An integer under a key of parts, or nothing. Throws: errc::malformed for another type.
  [[nodiscard]] TQ_API static std::optional<std::uint64_t> number_of(
      const std::filesystem::path& path, const std::vector<GgufEntry>& entries,
      std::string_view key);
  TQ_API static std::string shown_count(const std::optional<std::uint64_t>& n);

  TQ_API void open_others(GgufByteOrder order);

  TQ_API void open_part(const std::filesystem::path& path, std::uint64_t part, std::uint64_t count,
                        GgufByteOrder order);

  TQ_API void require_tensors() const;

  std::vector<GgufReader> files_;
  std::vector<std::filesystem::path> paths_;
};

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/gguf_parts.ipp>
#endif
