// SPDX-License-Identifier: MIT
#include "stored_model.hpp"

#include "schemes.hpp"

#include <tq/io/checkpoint_hints.hpp>
#include <tq/io/decode_checkpoint.hpp>
#include <tq/io/quantized_checkpoint.hpp>

#include <limits>
#include <set>
#include <utility>

namespace tool {

using tq::errc;
using tq::io::DType;
using tq::io::Json;

tq::Shape to_shape(const std::vector<std::size_t>& extents) {
  return tq::Shape(std::span<const std::size_t>(extents));
}

std::vector<std::size_t> to_extents(const tq::Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

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

std::string metadata_text(const std::vector<StoredTensor>& tensors) {
  Json entries = Json::object();
  for (const StoredTensor& t : tensors)
    if (t.spec)
      entries[t.name] = {{"dtype", std::string(tq::io::safetensors_name(t.dtype))},
                         {"shape", t.shape},
                         {"spec", tq::io::spec_to_json(*t.spec)}};
  return Json{{"version", layout_version}, {"tensors", std::move(entries)}}.dump();
}

StoredModel::StoredModel(const std::filesystem::path& path)
    : file_name_(path.string()), file_(tq::io::open_tensor_file(path)) {
  for (const tq::io::TensorInfo& info : file_.tensors()) stored_.emplace(info.name, &info);
  const auto pair = file_.metadata().find(metadata_key);
  if (pair != file_.metadata().end()) {
    try {
      read_metadata(pair->second);
    } catch (const tq::error& e) {
      throw tq::error(e.code(), file_name_ + ": " + e.what());
    }
  }
  quantized_ = tensors_.size();
  find_foreign(path);
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!index_.emplace(tensors_[i].name, i).second)
      throw tq::error(errc::malformed, file_name_ + ": tensor " +
                                           tq::io::detail::shown(tensors_[i].name) +
                                           " is there quantized and as it was");
}

// The tensors that tq did not quantize, in the order of the file; a weight of another program is where
// its first part was.
void StoredModel::find_foreign(const std::filesystem::path& path) {
  std::vector<tq::io::TensorInfo> rest;
  bool has_words = false;
  for (const tq::io::TensorInfo& info : file_.tensors())
    if (stored_.contains(info.name)) {
      rest.push_back(info);
      has_words = has_words || info.name.ends_with("qweight") || info.name.ends_with("_packed");
    }
  const tq::io::QuantizedCheckpoint found = tq::io::find_quantized(
      rest, [&](const std::string& name) { return file_.read(name); },
      has_words ? tq::io::read_checkpoint_hints(path.parent_path()) : tq::io::CheckpointHints{});
  std::unordered_map<std::string, const tq::io::CheckpointWeight*> part_of;
  for (const tq::io::CheckpointWeight& weight : found.weights)
    for (const auto& [role, name] : weight.parts) part_of.emplace(name, &weight);
  std::set<const tq::io::CheckpointWeight*> seen;
  for (const tq::io::TensorInfo& info : rest) {
    const auto part = part_of.find(info.name);
    if (part == part_of.end()) {
      StoredTensor t{info.name, info.dtype, info.shape, std::nullopt, std::nullopt, "",
                     info.size_bytes};
      if (const auto left = found.left_alone.find(info.name); left != found.left_alone.end()) {
        t.left_alone = left->second.reason;
        if (left->second.is_unreadable && unreadable_.empty()) unreadable_ = t.left_alone;
      }
      tensors_.push_back(std::move(t));
    } else if (seen.insert(part->second).second) {
      const tq::io::CheckpointWeight& w = *part->second;
      StoredTensor t{w.name, w.dtype, w.shape, std::nullopt, w, "", 0};
      for (const tq::io::TensorInfo& p : parts(t)) t.bytes += p.size_bytes;
      tensors_.push_back(std::move(t));
    }
  }
}

std::vector<tq::io::TensorInfo> StoredModel::parts(const StoredTensor& tensor) const {
  std::vector<tq::io::TensorInfo> out;
  if (tensor.foreign)
    for (const auto& [role, name] : tensor.foreign->parts) out.push_back(*stored_.at(name));
  return out;
}

std::string no_weight(const StoredTensor& tensor, bool requantize) {
  if (!tensor.left_alone.empty()) return tensor.left_alone;
  if (!tensor.foreign) return is_quantizable(tensor.dtype) ? "" : "not float";
  return requantize ? "" : "quantized: " + tensor.foreign->scheme;
}

const StoredTensor* StoredModel::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

tq::io::Metadata StoredModel::other_metadata() const {
  tq::io::Metadata out = file_.metadata();
  out.erase(metadata_key);
  return out;
}

// Takes a part of a quantized tensor out of the stored ones, after a look at its type and shape.
void StoredModel::take_part(StoredTensor& tensor, const StoredPart& part) {
  const auto found = stored_.find(part.name);
  const auto text = [](DType d, const std::vector<std::size_t>& s) {
    return std::string(to_string(d)) + " " + tq::io::shape_text(s);
  };
  if (found == stored_.end() || found->second->dtype != part.dtype ||
      found->second->shape != part.shape)
    throw tq::error(
        errc::malformed,
        tq::io::detail::shown(part.name) + ": expected " + text(part.dtype, part.shape) + ", got " +
            (found == stored_.end() ? std::string("no such tensor")
                                    : text(found->second->dtype, found->second->shape)));
  tensor.bytes += found->second->size_bytes;
  stored_.erase(found);
}

void StoredModel::read_metadata(const std::string& text) {
  const std::string path = "metadata \"tq\"";
  const Json document = tq::io::parse_json(text, path);
  tq::io::JsonFields fields(document, "tq", path);
  const std::int64_t version =
      fields.integer("version", 0, std::numeric_limits<std::int64_t>::max());
  if (version < 1 || version > layout_version)
    throw tq::error(errc::unsupported, path + ": version: expected 1 to " +
                                           std::to_string(layout_version) + ", got " +
                                           document["version"].dump());
  version_ = static_cast<int>(version);
  const Json& entries = fields.at("tensors");
  if (!entries.is_object()) fields.refuse("tensors", "an object", fields.got(entries));
  fields.finish();
  for (const auto& [name, entry] : entries.items()) {
    naming(name, [&, &name = name, &entry = entry] {
      tq::io::JsonFields member(entry, "tq", path);
      StoredTensor t;
      t.name = name;
      const std::string dtype = member.string("dtype");
      const auto known = tq::io::dtype_from_safetensors(dtype);
      if (!known || !is_quantizable(*known))
        member.refuse("dtype", "F64, F32, F16, BF16 or float8", tq::io::detail::shown(dtype));
      t.dtype = *known;
      for (const std::int64_t extent :
           member.integers("shape", 0, std::numeric_limits<std::int64_t>::max()))
        t.shape.push_back(static_cast<std::size_t>(extent));
      t.spec = spec_from(member.at("spec"), path);
      member.finish();
      if (!tq::io::storage_bytes(t.dtype, t.shape))
        member.refuse("shape", "less than 2^64 bits", tq::io::shape_text(t.shape));
      const tq::EncodedLayout layout = layout_of(*t.spec, to_shape(t.shape));
      for (const StoredPart& part : stored_parts(t.name, t.shape, *t.spec, layout, version_))
        take_part(t, part);
      tensors_.push_back(std::move(t));
    });
  }
}

tq::io::Tensor StoredModel::read(const StoredTensor& tensor) {
  if (!tensor.spec && !tensor.foreign) return file_.read(tensor.name);
  return naming(tensor.name, [&] {
    if (tensor.foreign)
      return tq::io::from_float32(
          tensor.name, tensor.shape,
          tq::io::decode_checkpoint(*tensor.foreign,
                                    [&](const std::string& name) { return file_.read(name); }),
          tensor.dtype);
    tq::EncodedTensor encoded;
    encoded.spec = *tensor.spec;
    encoded.shape = to_shape(tensor.shape);
    const tq::EncodedLayout layout = layout_of(encoded.spec, encoded.shape);
    for (const StoredPart& part : stored_parts(tensor.name, tensor.shape, encoded.spec, layout, version_))
      set_part(encoded, part, file_.read(part.name));
    restore_scales(encoded);
    return tq::io::from_float32(tensor.name, tensor.shape, decoded(encoded), tensor.dtype);
  });
}

}  // namespace tool
