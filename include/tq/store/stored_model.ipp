// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/stored_model.hpp.

#include <tq/checkpoints/decode_checkpoint.hpp>
#include <tq/store/stored_model.hpp>

namespace tq {

template <class Types, class ScaleTypes, Backend B>
BasicStoredModel<Types, ScaleTypes, B>::BasicStoredModel(const std::filesystem::path& path)
    : BasicStoredModel(std::make_shared<const store::ModelContents>(store::model_file(path))) {}

template <class Types, class ScaleTypes, Backend B>
const StoredTensor& BasicStoredModel<Types, ScaleTypes, B>::tensor(std::string_view name) const {
  if (const StoredTensor* const found = find(name)) return *found;
  std::vector<std::string> names;
  for (const StoredTensor& t : tensors()) names.push_back(t.name);
  detail::raise_expected(errc::unknown_name, files().front().string(),
                         {"the name of one of ", names.size(), " tensors"},
                         {io::shown(name), did_you_mean(name, names)});
}

template <class Types, class ScaleTypes, Backend B>
void BasicStoredModel<Types, ScaleTypes, B>::refuse_scheme(const StoredTensor& tensor,
                                                           const std::string& expected) const {
  const char* const by = tensor.foreign ? " of another program" : "";
  const bool is_plain = tensor.plain != nullptr && tensor.blocks.empty();
  const char* const plain = is_plain ? ", which is not quantized" : "";
  detail::raise_expected(errc::bad_argument, "", {expected}, {tensor.scheme(), by, plain});
}

template <class Types, class ScaleTypes, Backend B>
std::vector<float> BasicStoredModel<Types, ScaleTypes, B>::floats(const StoredTensor& tensor) {
  if (tensor.plain != nullptr) return io::to_float32<B>(file_.read(tensor.name));
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(tensor.elements()));
  store::for_each_piece(tensor.elements(), [&](std::size_t first, std::size_t count) {
    const std::span<const float> values = decoded(tensor, first, count);
    out.insert(out.end(), values.begin(), values.end());
  });
  return out;
}

template <class Types, class ScaleTypes, Backend B>
io::Tensor BasicStoredModel<Types, ScaleTypes, B>::read(const StoredTensor& tensor) {
  io::Tensor out{tensor.name, tensor.dtype, tensor.shape, {}};
  out.bytes.reserve(static_cast<std::size_t>(tensor.plain_bytes()));
  store::for_each_piece(tensor.elements(), [&](std::size_t first, std::size_t count) {
    const std::span<const std::byte> some = piece(tensor, first, count);
    out.bytes.insert(out.bytes.end(), some.begin(), some.end());
  });
  return out;
}

// Reads all parts but the codes.
template <class Types, class ScaleTypes, Backend B>
StoredParameters BasicStoredModel<Types, ScaleTypes, B>::read_parameters(
    const StoredTensor& tensor, const std::vector<store::PartPlace>& places) {
  StoredParameters out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const store::StoredPart& part = tensor.encoding->parts[i];
    if (part.kind == store::PartKind::codes) continue;
    io::Tensor stored{"", part.dtype, part.shape, {}};
    stored.bytes.resize(static_cast<std::size_t>(places[i].size()));
    file_.read_range(*places[i].in, places[i].begin, stored.bytes);
    store::set_part(out, part, stored);
  }
  return out;
}

template <class Types, class ScaleTypes, Backend B>
void BasicStoredModel<Types, ScaleTypes, B>::open(const StoredTensor& tensor) {
  if (open_ == &tensor) return;
  open_ = nullptr;
  coder_.start(tensor.encoding->spec, store::to_shape(tensor.shape));
  const std::vector<store::PartPlace> found = places(tensor);
  codes_ = found.front().in;
  codes_begin_ = found.front().begin;
  coder_.restore(read_parameters(tensor, found));
  open_ = &tensor;
}

template <class Types, class ScaleTypes, Backend B>
const EncodedTensor& BasicStoredModel<Types, ScaleTypes, B>::parameters(
    const StoredTensor& tensor) {
  open(tensor);
  return coder_.parameters();
}

// Reads all parts, and makes all values of them.
template <class Types, class ScaleTypes, Backend B>
void BasicStoredModel<Types, ScaleTypes, B>::open_foreign(const StoredTensor& tensor) {
  if (open_ == &tensor) return;
  open_ = nullptr;
  foreign_values_ = io::decode_checkpoint(*tensor.foreign, reader_of(*tensor.foreign));
  open_ = &tensor;
}

template <class Types, class ScaleTypes, Backend B>
std::span<const float> BasicStoredModel<Types, ScaleTypes, B>::decoded(const StoredTensor& tensor,
                                                                       std::size_t first,
                                                                       std::size_t count) {
  if (tensor.foreign != nullptr) {
    open_foreign(tensor);
    return std::span<const float>(foreign_values_).subspan(first, count);
  }
  open(tensor);
  const std::span<std::byte> codes = store::grown(codes_read_, coder_.code_bytes(count));
  const std::span<float> values = store::grown(values_, count);
  file_.read_range(*codes_, codes_begin_ + coder_.code_bytes(first), codes);
  coder_.decode(first, codes, values);
  return values;
}

template <class Types, class ScaleTypes, Backend B>
std::span<const std::byte> BasicStoredModel<Types, ScaleTypes, B>::piece(const StoredTensor& tensor,
                                                                         std::size_t first,
                                                                         std::size_t count) {
  const std::size_t size = io::detail::bytes_of(tensor.dtype, count);
  if (tensor.plain != nullptr) return bytes(*tensor.plain, first * bits(tensor.dtype) / 8, size);
  const std::span<std::byte> out = store::grown(piece_, size);
  store::naming(tensor.name,
                [&] { io::from_float32<B>(decoded(tensor, first, count), tensor.dtype, out); });
  return out;
}

template <class Types, class ScaleTypes, Backend B>
std::span<const std::byte> BasicStoredModel<Types, ScaleTypes, B>::bytes(const io::TensorInfo& part,
                                                                         std::uint64_t begin,
                                                                         std::size_t count) {
  const std::span<std::byte> out = store::grown(piece_, count);
  file_.read_range(part, begin, out);
  return out;
}

#ifdef TQ_FILE_BODIES
template class PieceCoder<all_elements, all_scales>;
template class BasicStoredModel<>;
template EncodedTensor StoredModel::encoded<all_elements, all_scales>(const StoredTensor&);
template EncodedTensor StoredModel::from_blocks<all_elements, all_scales>(const StoredTensor&);
#endif

}  // namespace tq
