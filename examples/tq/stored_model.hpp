// SPDX-License-Identifier: MIT
#pragma once
// A tensor file as its user sees it: tensors that tq quantized appear under their own names and
// shapes.
//
// How a quantized tensor is stored is in stored_parts.hpp. The text pair "tq" of the metadata says
// the rest:
//   {"version": 1, "tensors": {"w": {"dtype": "F32", "shape": [64, 64], "spec": {"type": "int4",
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
#include <tq/io/json.hpp>
#include <tq/io/tensor_file.hpp>
#include <tq/model/encoded_tensor.hpp>
#include <tq/ops/compare.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace tool {

inline constexpr const char* metadata_key = "tq";

struct StoredTensor {
  std::string name;
  tq::io::DType dtype = tq::io::DType::f32;  // as it was before it was quantized
  std::vector<std::size_t> shape;
  std::optional<tq::QuantSpec> spec;  // of a quantized tensor
  std::uint64_t bytes = 0;            // in the file, scales and zero points included
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

class StoredModel {
 public:
  // Throws: tq::error, naming the file and the tensor.
  explicit StoredModel(const std::filesystem::path& path);
  StoredModel(const StoredModel&) = delete;
  StoredModel& operator=(const StoredModel&) = delete;

  [[nodiscard]] const std::vector<StoredTensor>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const StoredTensor* find(const std::string& name) const;
  [[nodiscard]] bool is_quantized() const noexcept { return quantized_ != 0; }
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
  // So many elements of it from number `first` on, a multiple of 8, into memory of their size. Of
  // a quantized tensor only scales and zero points are in memory as a whole.
  void read_part(const StoredTensor& tensor, std::size_t first, std::size_t count,
                 std::span<std::byte> out);

 private:
  void open(const StoredTensor& tensor);
  void read_pool(const tq::io::Json& pool, const std::string& path);
  void read_metadata(const std::string& text);
  void take_part(StoredTensor& tensor, const StoredPart& part);

  std::string file_name_;
  tq::io::TensorFile file_;
  std::unordered_map<std::string, const tq::io::TensorInfo*> stored_;
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
  std::size_t quantized_ = 0;

  const StoredTensor* open_ = nullptr;  // the quantized tensor whose parameters coder_ has
  std::string codes_;                   // the tensor with its codes, and where in it they begin
  std::uint64_t codes_begin_ = 0;
  std::string pool_;  // the tensor of bytes that small ones share
  PieceCoder coder_;
  tq::Buffer<std::byte> codes_read_;
  tq::Buffer<float> values_;
};

// Throws: errc::bad_argument where a tensor of the file is quantized.
void require_unquantized(const StoredModel& model, const std::string& file);

// The value of the metadata pair "tq". Of tensors in a pool, in its order, and the pool's name.
[[nodiscard]] std::string metadata_text(const std::vector<const StoredTensor*>& tensors,
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
