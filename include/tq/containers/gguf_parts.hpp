// SPDX-License-Identifier: MIT
#pragma once
// GgufParts: the GGUF files of a model, which may be split.

#include <tq/containers/detail/counted_name.hpp>
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
#include <variant>
#include <vector>

namespace tq::io {

namespace detail {

inline constexpr std::string_view gguf_part_key = "split.no", gguf_parts_key = "split.count",
                                  gguf_all_tensors_key = "split.tensors.count";

}  // namespace detail

/// The most parts of a model.
inline constexpr std::uint64_t gguf_max_parts = 65535;

/// The name of part 0, 1, ... of a split model: "MODEL-00002-of-00003.gguf" of part 1 of 3.
[[nodiscard]] inline std::string gguf_part_name(std::string_view model, std::uint64_t part,
                                                std::uint64_t count) {
  return detail::CountedName{std::string(model), ".gguf"}.name(part, count);
}

/// The keys that say which part a file is, with the types and in the order of llama-gguf-split:
/// `tensors` are those of all parts. Precondition: `part` < `count` <= `gguf_max_parts`, and
/// `tensors` < 2^31.
[[nodiscard]] inline std::vector<GgufEntry> gguf_part_entries(std::uint64_t part,
                                                              std::uint64_t count,
                                                              std::uint64_t tensors) {
  std::vector<GgufEntry> out(3);
  out[0].name = detail::gguf_part_key;
  out[0].value.emplace<std::uint16_t>(static_cast<std::uint16_t>(part));
  out[1].name = detail::gguf_parts_key;
  out[1].value.emplace<std::uint16_t>(static_cast<std::uint16_t>(count));
  out[2].name = detail::gguf_all_tensors_key;
  out[2].value.emplace<std::int32_t>(static_cast<std::int32_t>(tensors));
  return out;
}

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
  [[noreturn]] static void refuse(errc code, const std::filesystem::path& path,
                                  const std::string& expected, const std::string& got) {
    detail::fail(code, "tq::io::GgufParts", path.string(), "", detail::expected_got(expected, got));
  }
  // An integer under a key of parts, or nothing. Throws: errc::malformed for another type.
  [[nodiscard]] static std::optional<std::uint64_t> number_of(const std::filesystem::path& path,
                                                              const std::vector<GgufEntry>& entries,
                                                              std::string_view key) {
    const GgufValue* const value = find_gguf_value(entries, key);
    if (value == nullptr) return std::nullopt;
    const std::string_view type = type_name(*value);
    std::optional<std::uint64_t> number;
    if (!std::holds_alternative<GgufArray>(*value)) number = gguf_count(entries, key);
    if (!number)
      refuse(errc::malformed, path, "an integer of at least 0 under " + std::string(key),
             (type.starts_with("int") ? "a negative " : "a value of type ") + std::string(type));
    return number;
  }
  static std::string shown_count(const std::optional<std::uint64_t>& n) {
    return n ? std::to_string(*n) : std::string("none");
  }

  void open_others(GgufByteOrder order) {
    const std::uint64_t count =
        number_of(paths_.front(), entries(), detail::gguf_parts_key).value_or(1);
    if (count <= 1) return;
    const std::filesystem::path first = paths_.front();
    if (count > gguf_max_parts)
      refuse(errc::malformed, first, "at most " + std::to_string(gguf_max_parts) + " parts",
             std::to_string(count));
    const std::uint64_t number = number_of(first, entries(), detail::gguf_part_key).value_or(0);
    const std::string name = first.filename().string(), own = gguf_part_name("", number, count);
    const bool has_name = name.size() > own.size() && name.ends_with(own);
    const std::string stem = has_name ? name.substr(0, name.size() - own.size()) : "MODEL";
    if (number != 0)
      refuse(errc::bad_argument, first,
             "the first of " + std::to_string(count) + " parts, " + gguf_part_name(stem, 0, count),
             "part " + std::to_string(number + 1));
    if (!has_name)
      refuse(errc::bad_argument, first,
             "the first of " + std::to_string(count) + " parts with a name that ends in " + own,
             detail::shown(name));
    for (std::uint64_t part = 1; part < count; ++part)
      open_part(first.parent_path() / gguf_part_name(stem, part, count), part, count, order);
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
      const std::optional<std::uint64_t> got = number_of(path, file.entries(), key);
      if (got != wanted)
        refuse(errc::malformed, path,
               std::string(key) + " " + shown_count(wanted) + " of a part of the model of " +
                   paths_.front().filename().string(),
               shown_count(got));
    };
    require(detail::gguf_part_key, part);
    require(detail::gguf_parts_key, count);
    require(detail::gguf_all_tensors_key,
            number_of(paths_.front(), entries(), detail::gguf_all_tensors_key));
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
    const std::optional<std::uint64_t> wanted =
        number_of(paths_.front(), entries(), detail::gguf_all_tensors_key);
    if (wanted != names.size())
      refuse(errc::malformed, paths_.front(),
             shown_count(wanted) + " tensors in all parts, as " +
                 std::string(detail::gguf_all_tensors_key) + " says",
             std::to_string(names.size()));
  }

  std::vector<GgufReader> files_;
  std::vector<std::filesystem::path> paths_;
};

}  // namespace tq::io
