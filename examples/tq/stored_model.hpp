// SPDX-License-Identifier: MIT
#pragma once
// A tensor file as its user sees it: tensors that tq or another program quantized appear under their
// own names and shapes.
//
// How a quantized tensor is stored is in stored_parts.hpp. The text pair "tq" of the metadata says
// the rest:
//   {"version": 2, "tensors": {"w": {"dtype": "F32", "shape": [64, 64], "spec": {"type": "int4",
//   ...}}}}
//
// Tensors of a few bytes, where there are thousands of them, share one tensor of bytes, so that the
// names of their parts do not take a hundred times their place: all parts of one, then all of the
// next, by name. The pair "tq" then has as well
//   "pool": {"tensor": "tq.pool", "kinds": [{"dtype": ..., "shape": ..., "spec": ...}],
//            "tensors": {"w": 0}}
// where a number says which kind a tensor is.

#include "schemes.hpp"
#include "stored_parts.hpp"

#include <tq/core/buffer.hpp>
#include <tq/io/checkpoint_weight.hpp>
#include <tq/io/json.hpp>
#include <tq/io/name_index.hpp>
#include <tq/io/tensor_file.hpp>
#include <tq/model/encoded_tensor.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/ops/compare.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tool {

inline constexpr const char* metadata_key = "tq";

// How tensors of one shape are stored in one scheme.
struct Encoding {
  tq::QuantSpec spec;
  tq::EncodedLayout layout;
  std::vector<StoredPart> parts;
};
// Throws: as layout_of.
[[nodiscard]] std::shared_ptr<const Encoding> encoding_of(const tq::QuantSpec& spec,
                                                          const std::vector<std::size_t>& shape,
                                                          int version = layout_version);

struct StoredTensor {
  std::string name;
  tq::io::DType dtype = tq::io::DType::f32;  // as it was before it was quantized
  std::vector<std::size_t> shape;
  // One of these: what the file says of a tensor that is as it was; how tq quantized it; what
  // another program made of it.
  const tq::io::TensorInfo* plain = nullptr;
  std::shared_ptr<const Encoding> encoding;
  std::shared_ptr<const tq::io::CheckpointWeight> foreign;
  std::string left_alone;  // why it is no weight, although it may look like one
  std::uint64_t bytes = 0;                // in the file, scales and zero points included
  std::optional<std::uint64_t> pooled{};  // where its parts begin in the pool, if they are there

  [[nodiscard]] std::uint64_t elements() const { return *tq::io::element_count(shape); }
  // What it takes as `dtype`.
  [[nodiscard]] std::uint64_t plain_bytes() const { return *tq::io::storage_bytes(dtype, shape); }
};

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

class StoredModel {
 public:
  // Throws: tq::error, naming the file and the tensor.
  explicit StoredModel(const std::filesystem::path& path);
  StoredModel(const StoredModel&) = delete;
  StoredModel& operator=(const StoredModel&) = delete;

  [[nodiscard]] const std::vector<StoredTensor>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const StoredTensor* find(const std::string& name) const;
  // True where tq quantized a tensor.
  [[nodiscard]] bool is_quantized() const noexcept { return quantized_ != 0; }
  // Of weights that another program quantized and tq cannot read: what was expected. Or empty.
  [[nodiscard]] const std::string& unreadable() const noexcept { return unreadable_; }
  // True for what tq quantize wrote, even where nothing was quantized.
  [[nodiscard]] bool has_description() const { return file_.metadata().contains(metadata_key); }
  // All files that are read.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept {
    return file_.files();
  }
  // The text pairs of the file, without the one of tq.
  [[nodiscard]] tq::io::Metadata other_metadata() const;

  // The tensor in its own dtype, decoded where it is quantized.
  [[nodiscard]] tq::io::Tensor read(const StoredTensor& tensor);
  // So many elements of it from number `first` on, a multiple of 8; until the next call. Of a
  // tensor that tq quantized only scales and zero points are in memory as a whole.
  [[nodiscard]] std::span<const std::byte> piece(const StoredTensor& tensor, std::size_t first,
                                                 std::size_t count);

  // Scales and zero points of a tensor that tq quantized, without its codes; until the next call.
  [[nodiscard]] const tq::EncodedTensor& parameters(const StoredTensor& tensor);

  // The tensors of the file that a tensor is stored in that tq did not quantize; and some bytes of one.
  [[nodiscard]] std::vector<const tq::io::TensorInfo*> parts(const StoredTensor& tensor) const;
  [[nodiscard]] std::span<const std::byte> bytes(const tq::io::TensorInfo& part,
                                                 std::uint64_t begin, std::size_t count);

 private:
  // Where in the file a tensor of it is.
  [[nodiscard]] std::size_t place_of(const tq::io::TensorInfo& info) const {
    return static_cast<std::size_t>(&info - file_.tensors().data());
  }
  void find_foreign(const std::filesystem::path& path);
  void read_pool(const tq::io::Json& pool, const std::string& path);
  void read_metadata(const std::string& text);
  const tq::io::TensorInfo& take_part(const std::string& name, tq::io::DType dtype,
                                      const std::vector<std::size_t>& shape);
  void open(const StoredTensor& tensor);
  void open_foreign(const StoredTensor& tensor);
  [[nodiscard]] std::span<const float> decoded(const StoredTensor& tensor, std::size_t first,
                                               std::size_t count);

  std::string file_name_;
  tq::io::TensorFile file_;
  std::vector<bool> taken_;  // of the tensors of the file: parts of those that tq quantized
  std::vector<StoredTensor> tensors_;
  tq::io::NameIndex index_;  // of tensors_
  std::size_t quantized_ = 0;
  std::string unreadable_;
  int version_ = layout_version;
  const tq::io::TensorInfo* pool_ = nullptr;  // the tensor of bytes that small ones share

  const StoredTensor* open_ = nullptr;  // the tensor whose parameters coder_ has, or foreign_values_
  const tq::io::TensorInfo* codes_ = nullptr;  // the tensor with its codes, and where they begin
  std::uint64_t codes_begin_ = 0;
  PieceCoder coder_;
  std::vector<float> foreign_values_;
  tq::Buffer<std::byte> codes_read_, piece_;
  tq::Buffer<float> values_;
};

// Why a tensor is not to be quantized, or empty; weights that another program quantized are only
// with `requantize`.
[[nodiscard]] std::string no_weight(const StoredTensor& tensor, bool requantize);

// Throws: errc::bad_argument where tq quantized a tensor of the file.
void require_unquantized(const StoredModel& model, const std::string& file);

// What the metadata says of a tensor that is quantized.
struct Described {
  const StoredTensor* tensor;
  const Encoding* encoding;
  bool is_pooled;
};

// The value of the metadata pair "tq". Tensors in a pool come in the order of their names.
[[nodiscard]] std::string metadata_text(const std::vector<Described>& tensors,
                                        const std::string& pool);

[[nodiscard]] tq::Shape to_shape(const std::vector<std::size_t>& extents);
[[nodiscard]] std::vector<std::size_t> to_extents(const tq::Shape& shape);

// Calls f(); an error that leaves it names the tensor.
template <class F>
decltype(auto) naming(const std::string& tensor, F&& f) {
  try {
    return f();
  } catch (const tq::error& e) {
    throw tq::error(e.code(), "tensor " + tq::io::detail::shown(tensor) + ": " + e.what());
  }
}

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
