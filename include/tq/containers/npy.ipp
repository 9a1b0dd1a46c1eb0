// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/npy.hpp.

#include <tq/containers/npy.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/files/file_content.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace tq::io {

namespace detail {

TQ_API FortranCursor::FortranCursor(std::span<const std::size_t> shape)
    : shape_(shape), stride_(shape.size(), 1), index_(shape.size(), 0) {
  for (std::size_t axis = shape.size(); axis-- > 1;)
    stride_[axis - 1] = stride_[axis] * shape[axis];
}

TQ_API void FortranCursor::advance() noexcept {
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    place_ += stride_[axis];
    if (++index_[axis] < shape_[axis]) return;
    place_ -= stride_[axis] * shape_[axis];
    index_[axis] = 0;
  }
}

// Raises where the first bytes show that the file is no array but something known.
TQ_API void refuse_other_than_npy(const ByteSource& source) {
  constexpr std::string_view magic = "\x93NUMPY";
  std::array<char, magic.size()> begin{};
  const bool is_npy = source.size() >= begin.size() && [&] {
    source.read(0, std::as_writable_bytes(std::span<char>(begin)));
    return std::string_view(begin.data(), begin.size()) == magic;
  }();
  if (!is_npy) refuse_foreign_content(source, "tq::io::read_npy", "a .npy file");
}

// A next(span) that walks through a source from `offset`, which it moves.
// A next(span) that walks through a source from `offset`, which it moves.
[[nodiscard]] inline auto sequential(const ByteSource& source, std::uint64_t& offset) {
  return [&source, &offset](std::span<std::byte> out) {
    source.read(offset, out);
    offset += out.size();
  };
}

}  // namespace detail

TQ_API NpyReader NpyReader::open(const std::filesystem::path& path) {
  return NpyReader(ByteSource::open(path), path.stem().string());
}

TQ_API NpyReader::NpyReader(ByteSource source, std::string name) : source_(std::move(source)) {
  detail::refuse_other_than_npy(source_);
  std::uint64_t at = 0;
  header_ =
      detail::read_npy_header(detail::sequential(source_, at), source_.size(), source_.name(), "");
  info_ = {std::move(name), header_.dtype, header_.shape, header_.data_offset, header_.data_bytes};
}

TQ_API Tensor NpyReader::read() const {
  std::uint64_t at = header_.data_offset;
  return {info_.name, info_.dtype, info_.shape,
          detail::read_npy_data(detail::sequential(source_, at), header_)};
}

TQ_API void NpyReader::read_into(std::span<std::byte> out) const {
  std::uint64_t at = header_.data_offset;
  detail::read_npy_data(detail::sequential(source_, at), header_, out);
}

TQ_API bool NpyReader::is_plain() const noexcept {
  const bool row_major = !header_.fortran_order || header_.shape.size() < 2;
  return row_major && (!header_.big_endian || bits(header_.dtype) == 8);
}

TQ_API void NpyReader::read_range(std::uint64_t offset, std::span<std::byte> out) const {
  source_.read(tq::detail::sum_or_most(header_.data_offset, offset), out);
}

TQ_API Tensor read_npy(const std::filesystem::path& path) { return NpyReader::open(path).read(); }

TQ_API void write_npy(const std::filesystem::path& path, const Tensor& tensor, Links links) {
  static_cast<void>(detail::checked_count("tq::io::write_npy", tensor));
  const std::string header =
      detail::npy_header_text(tensor.dtype, tensor.shape, path.string(), tensor.name);
  AtomicFile file(path, links);
  file.write(std::as_bytes(std::span<const char>(header)));
  file.write(tensor.bytes);
  file.commit();
}

}  // namespace tq::io
