// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/gguf_parts.hpp.

#include <tq/containers/detail/counted_name.hpp>
#include <tq/containers/gguf_parts.hpp>
#include <tq/files/failure.hpp>

#include <cstddef>
#include <unordered_set>
#include <utility>
#include <variant>

namespace tq::io {

namespace detail {

inline constexpr std::string_view gguf_part_key = "split.no", gguf_parts_key = "split.count",
                                  gguf_all_tensors_key = "split.tensors.count";

}  // namespace detail

TQ_API std::string gguf_part_name(std::string_view model, std::uint64_t part, std::uint64_t count) {
  return detail::CountedName{std::string(model), ".gguf"}.name(part, count);
}

TQ_API std::vector<GgufEntry> gguf_part_entries(std::uint64_t part, std::uint64_t count,
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

TQ_API GgufParts GgufParts::open(const std::filesystem::path& path, GgufByteOrder order) {
  GgufParts out(GgufReader::open(path, order));
  out.paths_ = {path};
  out.open_others(order);
  return out;
}

TQ_API GgufParts::GgufParts(GgufReader file) : paths_{file.file_name()} {
  files_.push_back(std::move(file));
}

TQ_API const std::vector<GgufEntry>& GgufParts::entries() const noexcept {
  return files_.front().entries();
}

TQ_API void GgufParts::refuse(errc code, const std::filesystem::path& path,
                              const std::string& expected, const std::string& got) {
  detail::fail(code, "tq::io::GgufParts", path.string(), "", detail::expected_got(expected, got));
}

TQ_API std::optional<std::uint64_t> GgufParts::number_of(const std::filesystem::path& path,
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

TQ_API std::string GgufParts::shown_count(const std::optional<std::uint64_t>& n) {
  return n ? std::to_string(*n) : std::string("none");
}

TQ_API void GgufParts::open_others(GgufByteOrder order) {
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

TQ_API void GgufParts::open_part(const std::filesystem::path& path, std::uint64_t part,
                                 std::uint64_t count, GgufByteOrder order) {
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

TQ_API void GgufParts::require_tensors() const {
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

}  // namespace tq::io
