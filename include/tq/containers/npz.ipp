// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/npz.hpp.

#include <tq/containers/npy.hpp>
#include <tq/containers/npz.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/zip_member.hpp>

#include <optional>
#include <utility>

namespace tq::io {

TQ_API NpzReader NpzReader::open(const std::filesystem::path& path) {
  return NpzReader(ByteSource::open(path));
}

TQ_API NpzReader::NpzReader(ByteSource source) : source_(std::move(source)) {
  std::vector<detail::ZipEntry> all = detail::read_zip_directory(source_);
  index_ = NameIndex(all.size());
  for (detail::ZipEntry& e : all) add(std::move(e));
}

TQ_API const TensorInfo* NpzReader::find(std::string_view name) const {
  const std::optional<std::size_t> place = index_.find(tensors_, name);
  return place ? &tensors_[*place] : nullptr;
}

TQ_API Tensor NpzReader::read(const std::string& name) const {
  const TensorInfo& entry = info(name);
  Tensor out{entry.name, entry.dtype, entry.shape,
             std::vector<std::byte>(static_cast<std::size_t>(entry.size_bytes))};
  read_into(name, out.bytes);
  return out;
}

TQ_API void NpzReader::read_into(const std::string& name, std::span<std::byte> out) const {
  const TensorInfo& known = info(name);
  const detail::ZipEntry& entry = entries_[static_cast<std::size_t>(&known - tensors_.data())];
  detail::ZipMemberStream stream(source_, entry);
  const NpyHeader header =
      detail::read_npy_header(stream, entry.size, source_.name(), detail::shown(name));
  if (header.dtype != known.dtype || header.shape != known.shape)  // `out` is as large as that was
    detail::zip_fail(source_, detail::shown(name), "the tensor that was there when it was opened",
                     std::string(to_string(header.dtype)) + " " + shape_text(header.shape),
                     entry.data_offset);
  detail::read_npy_data(stream, header, out);
  stream.finish();
}

TQ_API const TensorInfo& NpzReader::info(std::string_view name) const {
  const TensorInfo* const found = find(name);
  if (found != nullptr) return *found;
  for (const OtherMember& other : others_)
    if (other.name == name)
      detail::fail(errc::unsupported, "tq::io::NpzReader", source_.name(), detail::shown(name),
                   other.reason);
  detail::fail(errc::unknown_name, "tq::io::NpzReader", source_.name(), detail::shown(name),
               "expected a member of this name, got none");
}

TQ_API void NpzReader::add(detail::ZipEntry&& entry) {
  constexpr std::string_view suffix = ".npy";
  if (!entry.unreadable.empty() || !entry.name.ends_with(suffix)) {
    others_.push_back(
        {entry.name, entry.unreadable.empty()
                         ? detail::expected_got("a member named <name>.npy",
                                                entry.name.ends_with('/') ? "a folder" : "another")
                         : entry.unreadable});
    return;
  }
  std::string name = entry.name.substr(0, entry.name.size() - suffix.size());
  if (find(name) != nullptr)
    detail::zip_fail(source_, detail::shown(name), "every name once", "it twice",
                     entry.header_offset);
  try {
    detail::ZipMemberStream stream(source_, entry);
    NpyHeader header =
        detail::read_npy_header(stream, entry.size, source_.name(), detail::shown(name));
    tensors_.push_back({std::move(name), header.dtype, std::move(header.shape), entry.data_offset,
                        header.data_bytes});
  } catch (const error& e) {
    if (e.code() != errc::unsupported) throw;
    const std::string text = e.what();  // which file and member is said elsewhere
    others_.push_back(
        {std::move(name), text.substr(std::min(text.size(), text.rfind("expected ")))});
    return;
  }
  (void)index_.add_next(tensors_);
  entries_.push_back(std::move(entry));
}

}  // namespace tq::io
