// SPDX-License-Identifier: MIT
#include "stored_model.hpp"

#include <tq/checkpoints/decode_checkpoint.hpp>

namespace tool {

using tq::errc;

StoredModel::StoredModel(const std::filesystem::path& path)
    : StoredModel(std::make_shared<const ModelContents>(model_file(path))) {}

void require_unquantized(const StoredModel& model, const std::string& file) {
  if (model.is_quantized())
    throw tq::error(errc::bad_argument,
                    file +
                        ": expected a model that is not quantized yet, got one quantized by tq; "
                        "tq dequantize turns it back");
}

void out_of_memory(const StoredTensor& tensor) {
  throw tq::error(errc::unsupported, "tensor " + tq::io::detail::shown(tensor.name) +
                                         ": expected memory for " +
                                         std::string(to_string(tensor.dtype)) + " " +
                                         tq::io::shape_text(tensor.shape) + ", " +
                                         std::to_string(tensor.plain_bytes()) +
                                         " bytes, and for what is made of it, got too little");
}

tq::io::TensorDecl raw_declaration(const tq::io::OtherMember& other) {
  return {other.name, tq::io::DType::u8, other.raw->shape, other.raw};
}

tq::io::Metadata StoredModel::other_metadata() const {
  tq::io::Metadata out = file_.metadata();
  if (has_description()) out.erase(metadata_key);
  return out;
}

tq::io::Tensor StoredModel::read(const StoredTensor& tensor) {
  tq::io::Tensor out{tensor.name, tensor.dtype, tensor.shape, {}};
  out.bytes.reserve(static_cast<std::size_t>(tensor.plain_bytes()));
  for_each_piece(tensor.elements(), [&](std::size_t first, std::size_t count) {
    const std::span<const std::byte> bytes = piece(tensor, first, count);
    out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
  });
  return out;
}

std::vector<PartPlace> StoredModel::places(const StoredTensor& tensor) const {
  std::vector<PartPlace> out;
  if (tensor.encoding == nullptr) {
    for (const tq::io::TensorInfo* part : parts(tensor))
      out.push_back({{part->name, part->dtype, part->shape}, part, 0});
    return out;
  }
  std::uint64_t at = tensor.pooled;
  for (const StoredPart& part : tensor.encoding->parts) {
    std::string name = part.name(tensor.name);
    const tq::io::TensorInfo& in = tensor.pool != nullptr ? *tensor.pool : file_.info(name);
    out.push_back({{std::move(name), part.dtype, part.shape}, &in, at});
    if (tensor.pool != nullptr) at += out.back().size();
  }
  return out;
}

// Reads all parts but the codes.
void StoredModel::open(const StoredTensor& tensor) {
  if (open_ == &tensor) return;
  open_ = nullptr;
  coder_.start(tensor.encoding->spec, to_shape(tensor.shape));
  tq::StoredParameters parameters;
  const std::vector<PartPlace> found = places(tensor);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const StoredPart& part = tensor.encoding->parts[i];
    if (part.kind == PartKind::codes) {
      codes_ = found[i].in;
      codes_begin_ = found[i].begin;
    } else {
      tq::io::Tensor stored{"", part.dtype, part.shape, {}};
      stored.bytes.resize(static_cast<std::size_t>(found[i].size()));
      file_.read_range(*found[i].in, found[i].begin, stored.bytes);
      set_part(parameters, part, std::move(stored));
    }
  }
  coder_.restore(std::move(parameters));
  open_ = &tensor;
}

const tq::EncodedTensor& StoredModel::parameters(const StoredTensor& tensor) {
  open(tensor);
  return coder_.parameters();
}

// Reads all parts, and makes all values of them.
void StoredModel::open_foreign(const StoredTensor& tensor) {
  if (open_ == &tensor) return;
  open_ = nullptr;
  foreign_values_ = tq::io::decode_checkpoint(
      *tensor.foreign, [&](const std::string& name) { return file_.read(name); });
  open_ = &tensor;
}

std::span<const float> StoredModel::decoded(const StoredTensor& tensor, std::size_t first,
                                            std::size_t count) {
  if (tensor.foreign != nullptr) {
    open_foreign(tensor);
    return std::span<const float>(foreign_values_).subspan(first, count);
  }
  open(tensor);
  const std::span<std::byte> codes = grown(codes_read_, coder_.code_bytes(count));
  const std::span<float> values = grown(values_, count);
  file_.read_range(*codes_, codes_begin_ + coder_.code_bytes(first), codes);
  coder_.decode(first, codes, values);
  return values;
}

std::span<const std::byte> StoredModel::piece(const StoredTensor& tensor, std::size_t first,
                                              std::size_t count) {
  const std::size_t size = tq::io::detail::bytes_of(tensor.dtype, count);
  if (tensor.plain != nullptr) return bytes(*tensor.plain, first * bits(tensor.dtype) / 8, size);
  const std::span<std::byte> out = grown(piece_, size);
  naming(tensor.name,
         [&] { tq::io::from_float32(decoded(tensor, first, count), tensor.dtype, out); });
  return out;
}

std::span<const std::byte> StoredModel::bytes(const tq::io::TensorInfo& part, std::uint64_t begin,
                                              std::size_t count) {
  const std::span<std::byte> out = grown(piece_, count);
  file_.read_range(part, begin, out);
  return out;
}

}  // namespace tool
