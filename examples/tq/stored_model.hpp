// SPDX-License-Identifier: MIT
#pragma once
// A tensor file as its user sees it: tensors that tq or another program quantized appear under
// their own names and shapes.

#include "model_contents.hpp"
#include "schemes.hpp"
#include "stored_tensor.hpp"

#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/core/buffer.hpp>
#include <tq/ops/compare.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// Elements of a piece: what is made of it stays in the cache, and tq::Comparison cuts there.
inline constexpr std::size_t piece_size = tq::Comparison<>::piece;

// Calls f(first, count) for the pieces of so many elements.
template <class F>
void for_each_piece(std::uint64_t elements, F&& f) {
  for (std::uint64_t first = 0; first < elements; first += piece_size)
    f(static_cast<std::size_t>(first),
      static_cast<std::size_t>(std::min<std::uint64_t>(piece_size, elements - first)));
}

// As many elements of memory that is kept.
template <class T>
std::span<T> grown(tq::Buffer<T>& buffer, std::size_t count) {
  if (buffer.size() < count) buffer = tq::Buffer<T>(count);
  return buffer.span().first(count);
}

// What to do about weights that cannot be read.
inline constexpr const char* skip_hint = "; --skip-unreadable copies its parts as they are";

// A tensor of a type that is not read, as a file that has a copy of it says it.
[[nodiscard]] tq::io::TensorDecl raw_declaration(const tq::io::OtherMember& other);

// Calls f(bytes) for the pieces of such a tensor.
template <class F>
void for_each_raw_piece(const tq::io::TensorFile& file, const tq::io::OtherMember& other, F&& f) {
  std::vector<std::byte> bytes;
  for_each_piece(other.raw->size_bytes, [&](std::size_t first, std::size_t count) {
    bytes.resize(count);
    file.read_raw(other, first, bytes);
    f(std::span<const std::byte>(bytes));
  });
}

// A part of a tensor as it is in the file.
struct PartPlace {
  tq::io::TensorDecl declaration;
  const tq::io::TensorInfo* in;  // the tensor of the file that has its bytes
  std::uint64_t begin;           // and where in it they begin

  [[nodiscard]] std::uint64_t size() const {
    return *tq::io::storage_bytes(declaration.dtype, declaration.shape);
  }
};

class StoredModel {
 public:
  // Of a folder, as `model_file`. Throws: tq::error, naming the file and the tensor.
  explicit StoredModel(const std::filesystem::path& path);
  StoredModel(const StoredModel&) = delete;
  StoredModel& operator=(const StoredModel&) = delete;
  // Another reader of the same tensors, for another thread.
  [[nodiscard]] StoredModel another() const { return StoredModel(contents_); }

  [[nodiscard]] const ModelContents& contents() const noexcept { return *contents_; }
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const noexcept {
    return contents_->tensors();
  }
  [[nodiscard]] const StoredTensor* find(const std::string& name) const {
    return contents_->find(name);
  }
  // True where tq quantized a tensor.
  [[nodiscard]] bool is_quantized() const noexcept { return contents_->is_quantized(); }
  // Of weights that another program quantized and tq cannot read: what was expected. Or empty.
  [[nodiscard]] const std::string& unreadable() const noexcept { return contents_->unreadable(); }
  // True for what tq quantize wrote, even where nothing was quantized.
  [[nodiscard]] bool has_description() const noexcept { return contents_->is_described(); }
  // What the file holds beside tensors, which is not read; what has a `raw` can be copied.
  [[nodiscard]] std::span<const tq::io::OtherMember> others() const noexcept {
    return file_.others();
  }
  // All files that are read.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept {
    return file_.files();
  }
  // The text pairs of the file, of all its shards, without the one of tq.
  [[nodiscard]] tq::io::Metadata other_metadata() const;

  // The tensor in its own dtype, decoded where it is quantized.
  [[nodiscard]] tq::io::Tensor read(const StoredTensor& tensor);
  // So many elements of it from number `first` on, a multiple of 8; until the next call. Of a
  // tensor that tq quantized only scales and zero points are in memory as a whole.
  [[nodiscard]] std::span<const std::byte> piece(const StoredTensor& tensor, std::size_t first,
                                                 std::size_t count);

  // Scales and zero points of a tensor that tq quantized, without its codes; until the next call.
  [[nodiscard]] const tq::EncodedTensor& parameters(const StoredTensor& tensor);

  // The tensors of the file that a tensor is stored in that tq did not quantize; and some bytes of
  // one.
  [[nodiscard]] std::vector<const tq::io::TensorInfo*> parts(const StoredTensor& tensor) const {
    return contents_->parts(tensor);
  }
  // Where all of them are, those of a tensor that tq quantized too.
  [[nodiscard]] std::vector<PartPlace> places(const StoredTensor& tensor) const;
  [[nodiscard]] std::span<const std::byte> bytes(const tq::io::TensorInfo& part,
                                                 std::uint64_t begin, std::size_t count);

 private:
  explicit StoredModel(std::shared_ptr<const ModelContents> contents)
      : contents_(std::move(contents)), file_(contents_->file().another()) {}

  void open(const StoredTensor& tensor);
  void open_foreign(const StoredTensor& tensor);
  [[nodiscard]] std::span<const float> decoded(const StoredTensor& tensor, std::size_t first,
                                               std::size_t count);

  std::shared_ptr<const ModelContents> contents_;
  tq::io::TensorFile file_;

  const StoredTensor* open_ =
      nullptr;  // the tensor whose parameters coder_ has, or foreign_values_
  const tq::io::TensorInfo* codes_ = nullptr;  // the tensor with its codes, and where they begin
  std::uint64_t codes_begin_ = 0;
  PieceCoder coder_;
  std::vector<float> foreign_values_;
  tq::Buffer<std::byte> codes_read_, piece_;
  tq::Buffer<float> values_;
};

// Calls f(), which decodes; an error that is not the disk's says what goes on without the values.
template <class F>
decltype(auto) hinting_skip(F&& f) {
  try {
    return f();
  } catch (const tq::error& e) {
    if (e.code() == tq::errc::io_failure) throw;
    throw tq::error(e.code(), std::string(e.what()) + skip_hint);
  }
}

// Throws: errc::bad_argument where tq quantized a tensor of the file.
void require_unquantized(const StoredModel& model, const std::string& file);

// Throws: errc::unsupported, that memory does not suffice for the tensor.
[[noreturn]] void out_of_memory(const StoredTensor& tensor);

// Calls f(); where memory runs out, the error says for which tensor.
template <class F>
decltype(auto) in_memory(const StoredTensor& tensor, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    out_of_memory(tensor);
  } catch (const std::length_error&) {
    out_of_memory(tensor);
  }
}

}  // namespace tool
