// SPDX-License-Identifier: MIT
#pragma once
// StoredModel: a model file as its user sees it. Tensors that tq or another program quantized
// appear under their own names and shapes, and are read one at a time.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/load_checkpoint.hpp>
#include <tq/containers/other_member.hpp>
#include <tq/containers/safetensors_header.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/encoded_blocks.hpp>
#include <tq/scheme/encoded_conversion.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/piece_coder.hpp>
#include <tq/scheme/stored_parameters.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/store/detail/used_codes.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/part_bytes.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/stored_model_fwd.hpp>
#include <tq/store/stored_tensor.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

/// An open model: a .safetensors, .npz or .npy file, a sharded .index.json, or a folder with one.
/// Only names, shapes and schemes are in memory; data are read when they are asked for. One reader
/// serves one thread; `another` serves another. Kernels are compiled for the types in `Types` and
/// `ScaleTypes` only: a tensor of another scheme is listed, and its values are an error.
template <class Types, class ScaleTypes, Backend B>
class BasicStoredModel {
 public:
  /// Quantizes and decodes tensors of the schemes whose values the model has.
  using coder_type = PieceCoder<Types, ScaleTypes, B>;

  /// Throws: `errc::io_failure`; `errc::malformed`, naming the file and the tensor;
  /// `errc::bad_argument` for a folder without a model; `errc::unsupported`.
  explicit BasicStoredModel(const std::filesystem::path& path);
  BasicStoredModel(const BasicStoredModel&) = delete;
  BasicStoredModel& operator=(const BasicStoredModel&) = delete;
  /// Another reader of the same tensors, for another thread.
  [[nodiscard]] BasicStoredModel another() const { return BasicStoredModel(contents_); }

  [[nodiscard]] const store::ModelContents& contents() const noexcept { return *contents_; }
  /// The same, for an owner that outlives the model.
  [[nodiscard]] const std::shared_ptr<const store::ModelContents>& shared_contents()
      const noexcept {
    return contents_;
  }
  /// The tensors that tq quantized, then the others in the order of the file.
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const noexcept {
    return contents_->tensors();
  }
  /// The tensor of that name, or null.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const {
    return contents_->find(name);
  }
  /// The tensor of that name. Throws: `errc::unknown_name`, with the closest name there is.
  [[nodiscard]] const StoredTensor& tensor(std::string_view name) const;
  /// True where tq quantized a tensor.
  [[nodiscard]] bool is_quantized() const noexcept { return contents_->is_quantized(); }
  /// The reason why weights of another program cannot be read, or empty.
  [[nodiscard]] const std::string& unreadable() const noexcept { return contents_->unreadable(); }
  /// True for a file that tq wrote, even where nothing was quantized.
  [[nodiscard]] bool has_description() const noexcept { return contents_->is_described(); }
  /// The members of the file that are no tensors that tq reads; those with a `raw` can be copied.
  [[nodiscard]] std::span<const io::OtherMember> others() const noexcept {
    return contents_->others();
  }
  /// All files that are read.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept {
    return file_.files();
  }
  /// The text pairs of the file, of all its shards, without the pair of tq.
  [[nodiscard]] io::Metadata other_metadata() const { return contents_->other_metadata(); }

  /// One tensor, in memory. `As` is
  /// - parameters (`load<W4>`): a `QuantizedTensor<W4>`, of which no kernel is compiled;
  /// - `EncodedTensor`, the default: a tensor that tq quantized, whatever its scheme, or the blocks
  ///   of a GGUF file in the scheme that has their values (`block_spec`);
  /// - float: all values as a std::vector<float>, row-major, of any tensor, decoded where it is
  ///   quantized.
  /// Throws: `errc::unknown_name`; `errc::bad_argument` for a tensor of another scheme, naming both
  /// schemes, and for codes that the scheme does not use; `errc::unsupported` for complex numbers;
  /// `errc::io_failure`; what `EncodedTensor` and `QuantizedTensor` refuse: damaged parameters.
  template <class As = EncodedTensor>
  [[nodiscard]] auto load(std::string_view name);

  /// The tensor in its own dtype, decoded where it is quantized.
  [[nodiscard]] io::Tensor read(const StoredTensor& tensor);
  /// `count` elements of it from number `first` on, a multiple of 8, in its own dtype; until the
  /// next call. Of a tensor that tq quantized only scales and zero points are in memory as a whole.
  [[nodiscard]] std::span<const std::byte> piece(const StoredTensor& tensor, std::size_t first,
                                                 std::size_t count);

  /// Scales and zero points of a tensor that tq quantized, without its codes; until the next call.
  [[nodiscard]] const EncodedTensor& parameters(const StoredTensor& tensor);

  /// A weight that another program quantized, with its codes as they are. Throws: as
  /// `io::load_checkpoint`. Precondition: `tensor.foreign`.
  [[nodiscard]] CheckpointTensor foreign(const StoredTensor& tensor) {
    return io::load_checkpoint<B>(*tensor.foreign, reader_of(*tensor.foreign));
  }

  /// The tensors of the file that store a tensor that tq did not quantize.
  [[nodiscard]] std::vector<const io::TensorInfo*> parts(const StoredTensor& tensor) const {
    return contents_->parts(tensor);
  }
  /// The places of all parts of a tensor, whoever quantized it.
  [[nodiscard]] std::vector<store::PartPlace> places(const StoredTensor& tensor) const {
    return contents_->places(tensor);
  }
  /// `count` bytes of a tensor of the file; until the next call.
  [[nodiscard]] std::span<const std::byte> bytes(const io::TensorInfo& part, std::uint64_t begin,
                                                 std::size_t count);

 private:
  explicit BasicStoredModel(std::shared_ptr<const store::ModelContents> contents)
      : contents_(std::move(contents)), file_(contents_->file().another()) {}

  // Reads the parts of a weight, of a stack only those of its expert.
  [[nodiscard]] io::ReadTensor reader_of(const io::CheckpointWeight& weight) {
    return [this, &weight](const std::string& name) {
      if (weight.experts == 0) return file_.read(name);
      const io::TensorInfo& all = file_.info(name);
      const std::uint64_t size = all.size_bytes / weight.experts;
      io::Tensor one{name, all.dtype, all.shape, std::vector<std::byte>(size)};
      one.shape.erase(one.shape.begin());
      file_.read_range(all, weight.expert * size, one.bytes);
      return one;
    };
  }
  // Precondition: the tensor is in blocks.
  [[nodiscard]] static layouts::gguf::Type block_type(const StoredTensor& tensor) noexcept {
    return layouts::gguf::find_type(tensor.blocks)->type;
  }
  [[noreturn]] void refuse_scheme(const StoredTensor& tensor, const std::string& expected) const;
  template <AnyParams Params>
  [[nodiscard]] QuantizedTensor<Params> typed(const StoredTensor& tensor);
  template <class SomeTypes, class SomeScales>
  [[nodiscard]] EncodedTensor encoded(const StoredTensor& tensor);
  template <class SomeTypes, class SomeScales>
  [[nodiscard]] EncodedTensor from_blocks(const StoredTensor& tensor);
  [[nodiscard]] std::vector<float> floats(const StoredTensor& tensor);

  [[nodiscard]] StoredParameters read_parameters(const StoredTensor& tensor,
                                                 const std::vector<store::PartPlace>& places);
  void open(const StoredTensor& tensor);
  void open_foreign(const StoredTensor& tensor);
  [[nodiscard]] std::span<const float> decoded(const StoredTensor& tensor, std::size_t first,
                                               std::size_t count);

  std::shared_ptr<const store::ModelContents> contents_;
  io::TensorFile file_;

  const StoredTensor* open_ = nullptr;     // whose parameters coder_ has, or foreign_values_
  const io::TensorInfo* codes_ = nullptr;  // the tensor with its codes, and where they begin
  std::uint64_t codes_begin_ = 0;
  coder_type coder_;
  std::vector<float> foreign_values_;
  Buffer<std::byte> codes_read_, piece_;
  Buffer<float> values_;
};

/// Opens a model that may be larger than memory. Throws: as `BasicStoredModel`.
[[nodiscard]] inline StoredModel open(const std::filesystem::path& path) {
  return StoredModel(path);
}

/// One tensor of a model, as `BasicStoredModel::load`: `load<W4>(path, "fc1.weight")` is a
/// `QuantizedTensor<W4>`, `load(path, ...)` an `EncodedTensor`, `load<float>(path, ...)` the
/// values. Throws: as `open` and `BasicStoredModel::load`.
template <class As = EncodedTensor>
[[nodiscard]] auto load(const std::filesystem::path& path, std::string_view name) {
  return open(path).load<As>(name);
}

template <class Types, class ScaleTypes, Backend B>
template <class As>
auto BasicStoredModel<Types, ScaleTypes, B>::load(std::string_view name) {
  const StoredTensor& t = tensor(name);
  return store::detail::in_context(
      [&] { return files().front().string() + ": tensor " + io::shown(t.name); },
      [&] {
        if constexpr (std::same_as<As, float>) {
          return floats(t);
        } else if constexpr (std::same_as<As, EncodedTensor>) {
          if (!t.blocks.empty()) return from_blocks<Types, ScaleTypes>(t);
          if (t.encoding == nullptr) refuse_scheme(t, "a tensor that tq quantized");
          return encoded<Types, ScaleTypes>(t);
        } else {
          static_assert(AnyParams<As>,
                        "tq::StoredModel::load: expected parameters, EncodedTensor or float");
          return typed<As>(t);
        }
      });
}

template <class Types, class ScaleTypes, Backend B>
template <AnyParams Params>
QuantizedTensor<Params> BasicStoredModel<Types, ScaleTypes, B>::typed(const StoredTensor& tensor) {
  using Element = TypeList<typename Params::type>;
  using Scale = TypeList<typename Params::scale_type>;
  std::optional<QuantSpec> spec;
  if (tensor.spec() != nullptr) spec = *tensor.spec();
  else if (!tensor.blocks.empty()) spec = block_spec<Scale>(block_type(tensor));
  const QuantSpec wanted = spec_like<Params>(spec.value_or(QuantSpec{}));
  if (!spec || !is_same_layout(wanted, *spec, static_cast<int>(tensor.shape.size())))
    refuse_scheme(tensor, to_string(wanted));
  return to_quantized<Params>(tensor.blocks.empty() ? encoded<Element, Scale>(tensor)
                                                    : from_blocks<Element, Scale>(tensor));
}

template <class Types, class ScaleTypes, Backend B>
template <class SomeTypes, class SomeScales>
EncodedTensor BasicStoredModel<Types, ScaleTypes, B>::from_blocks(const StoredTensor& tensor) {
  return encoded_blocks<SomeTypes, SomeScales, B>(
      block_type(tensor), file_.read_blocks(tensor.name), store::to_shape(tensor.shape));
}

template <class Types, class ScaleTypes, Backend B>
template <class SomeTypes, class SomeScales>
EncodedTensor BasicStoredModel<Types, ScaleTypes, B>::encoded(const StoredTensor& tensor) {
  const store::Encoding& encoding = *tensor.encoding;
  const std::vector<store::PartPlace> found = places(tensor);
  EncodedTensor out{encoding.spec,
                    store::to_shape(tensor.shape),
                    Buffer<std::byte>(encoding.layout.code_bytes),
                    {},
                    {},
                    {}};
  set_parameters<SomeTypes, SomeScales>(out, read_parameters(tensor, found));
  file_.read_range(*found.front().in, found.front().begin, out.codes.span());
  detail::require_parts<SomeTypes, SomeScales>(out, encoding.layout);
  store::detail::require_used_codes<B>(out.codes.span(), out, encoding.layout);
  return out;
}

#ifdef TQ_FILE_LIBRARY
extern template class PieceCoder<all_elements, all_scales>;
extern template class BasicStoredModel<>;
extern template EncodedTensor StoredModel::encoded<all_elements, all_scales>(const StoredTensor&);
extern template EncodedTensor StoredModel::from_blocks<all_elements, all_scales>(
    const StoredTensor&);
#endif

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/stored_model.ipp>
#endif
