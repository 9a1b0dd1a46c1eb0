// SPDX-License-Identifier: MIT
#pragma once
// A tensor file as its user sees it: tensors that tq or another program quantized appear under their
// own names and shapes.
//
// How a quantized tensor is stored is in stored_parts.hpp. The text pair "tq" of the metadata says
// the rest:
//   {"version": 2, "tensors": {"w": {"dtype": "F32", "shape": [64, 64], "spec": {"type": "int4",
//   ...}}}}

#include "stored_parts.hpp"

#include <tq/io/checkpoint_weight.hpp>
#include <tq/io/json.hpp>
#include <tq/io/tensor_file.hpp>
#include <tq/model/encoded_tensor.hpp>

#include <filesystem>
#include <new>
#include <optional>
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
  std::optional<tq::QuantSpec> spec;  // of a tensor that tq quantized
  std::optional<tq::io::CheckpointWeight> foreign;  // of one that another program quantized
  std::string left_alone;  // why it is no weight, although it may look like one
  std::uint64_t bytes = 0;            // in the file, scales and zero points included

  [[nodiscard]] std::uint64_t elements() const { return *tq::io::element_count(shape); }
  // What it takes as `dtype`.
  [[nodiscard]] std::uint64_t plain_bytes() const { return *tq::io::storage_bytes(dtype, shape); }
};

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
  // The tensors of the file that a weight of another program is stored in; and one of them.
  [[nodiscard]] std::vector<tq::io::TensorInfo> parts(const StoredTensor& tensor) const;
  [[nodiscard]] tq::io::Tensor read_part(const std::string& name) { return file_.read(name); }

 private:
  void find_foreign(const std::filesystem::path& path);
  void read_metadata(const std::string& text);
  void take_part(StoredTensor& tensor, const StoredPart& part);

  std::string file_name_;
  tq::io::TensorFile file_;
  std::unordered_map<std::string, const tq::io::TensorInfo*> stored_;
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
  std::size_t quantized_ = 0;
  std::string unreadable_;
  int version_ = layout_version;
};

// Why a tensor is not to be quantized, or empty; weights that another program quantized are only
// with `requantize`.
[[nodiscard]] std::string no_weight(const StoredTensor& tensor, bool requantize);

// Throws: errc::bad_argument where tq quantized a tensor of the file.
void require_unquantized(const StoredModel& model, const std::string& file);

// The value of the metadata pair "tq".
[[nodiscard]] std::string metadata_text(const std::vector<StoredTensor>& tensors);

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
