// SPDX-License-Identifier: MIT
#pragma once
// GgufParts: the GGUF files of a model, which may be split.

#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tq::io {

/// A model in one GGUF file, or in the parts that llama-gguf-split makes of one:
/// "MODEL-00001-of-00003.gguf" and so on in a folder. Keys are in the first part.
class GgufParts {
 public:
  /// Opens a file or, by the name of the first, all parts of a model. Throws: as
  /// `GgufReader::open`; `errc::bad_argument` for a part that is not the first, or that has another
  /// name; `errc::io_failure` for parts that are missing; `errc::malformed` for parts of another
  /// model, for a tensor that is in two of them, and where tensors are missing.
  [[nodiscard]] static GgufParts open(const std::filesystem::path& path,
                                      GgufByteOrder order = GgufByteOrder::little) {
    GgufParts out(GgufReader::open(path, order));
    out.paths_ = {path};
    out.open_others(order);
    return out;
  }
  /// A model that is one file, which is not looked at for its parts.
  explicit GgufParts(GgufReader file) : paths_{file.file_name()} {
    files_.push_back(std::move(file));
  }

  /// The files, of which the first has the keys.
  [[nodiscard]] const std::vector<GgufReader>& files() const noexcept { return files_; }
  [[nodiscard]] const std::vector<std::filesystem::path>& paths() const noexcept { return paths_; }
  [[nodiscard]] const std::vector<GgufEntry>& entries() const noexcept {
    return files_.front().entries();
  }

 private:
  static constexpr std::string_view number_key = "split.no", count_key = "split.count",
                                    tensors_key = "split.tensors.count", ending = ".gguf";

  [[noreturn]] static void refuse(errc code, const std::filesystem::path& path,
                                  const std::string& expected, const std::string& got) {
    detail::fail(code, "tq::io::GgufParts", path.string(), "", detail::expected_got(expected, got));
  }
  // "-00002-of-00003.gguf" of part 1 of 3.
  [[nodiscard]] static std::string ending_of(std::uint64_t part, std::uint64_t count) {
    const auto digits = [](std::uint64_t n) {
      const std::string text = std::to_string(n);
      return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
    };
    return "-" + digits(part + 1) + "-of-" + digits(count) + std::string(ending);
  }
  static std::string shown_count(const std::optional<std::uint64_t>& n) {
    return n ? std::to_string(*n) : std::string("none");
  }

  void open_others(GgufByteOrder order) {
    const std::uint64_t count = gguf_count(entries(), count_key).value_or(1);
    if (count <= 1) return;
    const std::filesystem::path first = paths_.front();
    if (count > 65535) refuse(errc::malformed, first, "at most 65535 parts", std::to_string(count));
    const std::uint64_t number = gguf_count(entries(), number_key).value_or(0);
    const std::string name = first.filename().string(), own = ending_of(number, count);
    const bool has_name = name.size() > own.size() && name.ends_with(own);
    const std::string stem = has_name ? name.substr(0, name.size() - own.size()) : "MODEL";
    if (number != 0)
      refuse(errc::bad_argument, first,
             "the first of " + std::to_string(count) + " parts, " + stem + ending_of(0, count),
             "part " + std::to_string(number + 1));
    if (!has_name)
      refuse(errc::bad_argument, first,
             "the first of " + std::to_string(count) + " parts with a name that ends in " + own,
             detail::shown(name));
    for (std::uint64_t part = 1; part < count; ++part)
      open_part(first.parent_path() / (stem + ending_of(part, count)), part, count, order);
    require_tensors();
  }

  void open_part(const std::filesystem::path& path, std::uint64_t part, std::uint64_t count,
                 GgufByteOrder order) {
    std::error_code code;
    if (!std::filesystem::exists(path, code))
      refuse(errc::io_failure, path,
             "part " + std::to_string(part + 1) + " of " + std::to_string(count) + ", as " +
                 paths_.front().string() + " says",
             "no such file");
    GgufReader file = GgufReader::open(path, order);
    const auto require = [&](std::string_view key, const std::optional<std::uint64_t>& wanted) {
      const std::optional<std::uint64_t> got = gguf_count(file.entries(), key);
      if (got != wanted)
        refuse(errc::malformed, path,
               std::string(key) + " " + shown_count(wanted) + " of a part of the model of " +
                   paths_.front().filename().string(),
               shown_count(got));
    };
    require(number_key, part);
    require(count_key, count);
    require(tensors_key, gguf_count(entries(), tensors_key));
    paths_.push_back(path);
    files_.push_back(std::move(file));
  }

  void require_tensors() const {
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < files_.size(); ++i)
      for (const GgufTensor& t : files_[i].tensors())
        if (!names.insert(t.name).second)
          detail::fail(errc::malformed, "tq::io::GgufParts", paths_[i].string(),
                       detail::shown(t.name),
                       detail::expected_got("a tensor in one part", "it in an earlier part, too"));
    const std::optional<std::uint64_t> wanted = gguf_count(entries(), tensors_key);
    if (wanted != names.size())
      refuse(
          errc::malformed, paths_.front(),
          shown_count(wanted) + " tensors in all parts, as " + std::string(tensors_key) + " says",
          std::to_string(names.size()));
  }

  std::vector<GgufReader> files_;
  std::vector<std::filesystem::path> paths_;
};

}  // namespace tq::io
