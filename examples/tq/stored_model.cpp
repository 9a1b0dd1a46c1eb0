// SPDX-License-Identifier: MIT
#include "stored_model.hpp"

#include <tq/io/checkpoint_hints.hpp>
#include <tq/io/decode_checkpoint.hpp>
#include <tq/io/quantized_checkpoint.hpp>

#include <limits>
#include <memory>
#include <map>
#include <set>
#include <unordered_map>
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

std::shared_ptr<const Encoding> encoding_of(const tq::QuantSpec& spec,
                                            const std::vector<std::size_t>& shape, int version) {
  const tq::EncodedLayout layout = layout_of(spec, to_shape(shape));
  return std::make_shared<const Encoding>(
      Encoding{spec, layout, stored_parts(shape, spec, layout, version)});
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

namespace {

Json description(const Described& d) {
  return {{"dtype", std::string(tq::io::safetensors_name(d.tensor->dtype))},
          {"shape", d.tensor->shape},
          {"spec", tq::io::spec_to_json(d.encoding->spec)}};
}

// The kinds of pooled tensors, each written once, and which one every tensor is.
class Kinds {
 public:
  // Precondition: names come in their order.
  void add(const Described& d) {
    const auto [kind, is_new] =
        numbers_.try_emplace(std::pair(d.tensor->dtype, d.encoding), numbers_.size());
    if (is_new) kinds_.push_back(description(d));
    auto& members = tensors_.get_ref<Json::object_t&>();
    members.emplace_hint(members.end(), d.tensor->name, kind->second);
  }
  [[nodiscard]] bool empty() const { return kinds_.empty(); }
  [[nodiscard]] Json json(const std::string& pool) {
    return {{"tensor", pool}, {"kinds", std::move(kinds_)}, {"tensors", std::move(tensors_)}};
  }

 private:
  std::map<std::pair<DType, const Encoding*>, std::size_t> numbers_;
  Json kinds_ = Json::array(), tensors_ = Json::object();
};

// What both a tensor of its own and a kind of pooled tensors say.
StoredTensor described(const Json& entry, const std::string& path, int version) {
  tq::io::JsonFields member(entry, "tq", path);
  StoredTensor t;
  const std::string dtype = member.string("dtype");
  const auto known = tq::io::dtype_from_safetensors(dtype);
  if (!known || !is_quantizable(*known))
    member.refuse("dtype", "F64, F32, F16, BF16 or float8", tq::io::detail::shown(dtype));
  t.dtype = *known;
  for (const std::int64_t extent :
       member.integers("shape", 0, std::numeric_limits<std::int64_t>::max()))
    t.shape.push_back(static_cast<std::size_t>(extent));
  const tq::QuantSpec spec = spec_from(member.at("spec"), path);
  member.finish();
  if (!tq::io::storage_bytes(t.dtype, t.shape))
    member.refuse("shape", "less than 2^64 bits", tq::io::shape_text(t.shape));
  t.encoding = encoding_of(spec, t.shape, version);
  return t;
}

}  // namespace

std::string metadata_text(const std::vector<Described>& tensors, const std::string& pool) {
  Json entries = Json::object();
  Kinds kinds;
  for (const Described& d : tensors)
    if (d.is_pooled) kinds.add(d);
    else entries[d.tensor->name] = description(d);
  Json out{{"version", layout_version}, {"tensors", std::move(entries)}};
  if (!kinds.empty()) out["pool"] = kinds.json(pool);
  return out.dump();
}

StoredModel::StoredModel(const std::filesystem::path& path)
    : file_name_(path.string()),
      file_(tq::io::open_tensor_file(path)),
      taken_(file_.tensors().size()) {
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
  index_ = tq::io::NameIndex(tensors_.size());
  for (const StoredTensor& t : tensors_)
    if (!index_.add_next(tensors_))
      throw tq::error(errc::malformed, file_name_ + ": tensor " + tq::io::detail::shown(t.name) +
                                           " is there quantized and as it was");
}

// The tensors that tq did not quantize, in the order of the file; a weight of another program is where
// its first part was.
void StoredModel::find_foreign(const std::filesystem::path& path) {
  std::vector<const tq::io::TensorInfo*> rest;
  std::vector<tq::io::TensorInfo> copies;  // of the rest, where it is not the whole file
  rest.reserve(taken_.size());
  bool has_words = false;
  for (const tq::io::TensorInfo& info : file_.tensors()) {
    if (taken_[place_of(info)]) continue;
    rest.push_back(&info);
    if (quantized_ != 0) copies.push_back(info);
    has_words = has_words || info.name.ends_with("qweight") || info.name.ends_with("_packed");
  }
  const tq::io::QuantizedCheckpoint found = tq::io::find_quantized(
      quantized_ == 0 ? file_.tensors() : copies,
      [&](const std::string& name) { return file_.read(name); },
      has_words ? tq::io::read_checkpoint_hints(path.parent_path()) : tq::io::CheckpointHints{});
  std::unordered_map<std::string, std::shared_ptr<const tq::io::CheckpointWeight>> part_of;
  for (const tq::io::CheckpointWeight& weight : found.weights) {
    const auto shared = std::make_shared<const tq::io::CheckpointWeight>(weight);
    for (const auto& [role, name] : weight.parts) part_of.emplace(name, shared);
  }
  std::set<const tq::io::CheckpointWeight*> seen;
  tensors_.reserve(tensors_.size() + rest.size());
  for (const tq::io::TensorInfo* info : rest) {
    StoredTensor t;
    if (const auto part = part_of.find(info->name); part != part_of.end()) {
      if (!seen.insert(part->second.get()).second) continue;
      t.foreign = part->second;
      t.name = t.foreign->name;
      t.dtype = t.foreign->dtype;
      t.shape = t.foreign->shape;
      for (const tq::io::TensorInfo* p : parts(t)) t.bytes += p->size_bytes;
    } else {
      t.plain = info;
      t.name = info->name;
      t.dtype = info->dtype;
      t.shape = info->shape;
      t.bytes = info->size_bytes;
      if (const auto left = found.left_alone.find(info->name); left != found.left_alone.end()) {
        t.left_alone = left->second.reason;
        if (left->second.is_unreadable && unreadable_.empty()) unreadable_ = t.left_alone;
      }
    }
    tensors_.push_back(std::move(t));
  }
}

std::vector<const tq::io::TensorInfo*> StoredModel::parts(const StoredTensor& tensor) const {
  if (tensor.plain != nullptr) return {tensor.plain};
  std::vector<const tq::io::TensorInfo*> out;
  for (const auto& [role, name] : tensor.foreign->parts) out.push_back(&file_.info(name));
  return out;
}

std::string no_weight(const StoredTensor& tensor, bool requantize) {
  if (!tensor.left_alone.empty()) return tensor.left_alone;
  if (!tensor.foreign) return is_quantizable(tensor.dtype) ? "" : "not float";
  return requantize ? "" : "quantized: " + tensor.foreign->scheme;
}

const StoredTensor* StoredModel::find(const std::string& name) const {
  const auto place = index_.find(tensors_, name);
  return place ? &tensors_[*place] : nullptr;
}

tq::io::Metadata StoredModel::other_metadata() const {
  tq::io::Metadata out = file_.metadata();
  out.erase(metadata_key);
  return out;
}

// Takes a part of a quantized tensor out of the stored ones, after a look at its type and shape.
const tq::io::TensorInfo& StoredModel::take_part(const std::string& name, DType dtype,
                                                 const std::vector<std::size_t>& shape) {
  const tq::io::TensorInfo* const found = file_.find(name);
  const bool is_there = found != nullptr && !taken_[place_of(*found)];
  const auto text = [](DType d, const std::vector<std::size_t>& s) {
    return std::string(to_string(d)) + " " + tq::io::shape_text(s);
  };
  if (!is_there || found->dtype != dtype || found->shape != shape)
    throw tq::error(errc::malformed,
                    tq::io::detail::shown(name) + ": expected " + text(dtype, shape) + ", got " +
                        (is_there ? text(found->dtype, found->shape) : "no such tensor"));
  taken_[place_of(*found)] = true;
  return *found;
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
  if (fields.has("pool")) read_pool(fields.at("pool"), path);
  fields.finish();
  for (const auto& [name, entry] : entries.items()) {
    naming(name, [&, &name = name, &entry = entry] {
      StoredTensor t = described(entry, path, version_);
      t.name = name;
      for (const StoredPart& part : t.encoding->parts)
        t.bytes += take_part(part.name(name), part.dtype, part.shape).size_bytes;
      tensors_.push_back(std::move(t));
    });
  }
}

void StoredModel::read_pool(const Json& pool, const std::string& path) {
  tq::io::JsonFields fields(pool, "tq", path);
  const std::string pool_name = fields.string("tensor");
  std::vector<StoredTensor> kinds;
  for (const Json& entry : fields.array("kinds")) {
    kinds.push_back(described(entry, path, version_));
    kinds.back().bytes = kinds.back().encoding->layout.bytes();
  }
  const Json& names = fields.at("tensors");
  if (!names.is_object()) fields.refuse("tensors", "an object", fields.got(names));
  fields.finish();
  std::uint64_t end = 0;
  for (const auto& [name, kind] : names.items()) {
    if (!kind.is_number_unsigned() || kind.get<std::uint64_t>() >= kinds.size())
      throw tq::error(errc::malformed, path + ": pool: tensor " + tq::io::detail::shown(name) +
                                           ": expected one of " + std::to_string(kinds.size()) +
                                           " kinds, got " + kind.dump());
    StoredTensor t = kinds[kind.get<std::size_t>()];
    t.name = name;
    t.pooled = end;
    if (t.bytes > std::numeric_limits<std::uint64_t>::max() - end)
      throw tq::error(errc::malformed, path + ": pool: expected less than 2^64 bytes, got more");
    end += t.bytes;
    tensors_.push_back(std::move(t));
  }
  pool_ = &take_part(pool_name, DType::u8, {static_cast<std::size_t>(end)});
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

// Reads all parts but the codes.
void StoredModel::open(const StoredTensor& tensor) {
  if (open_ == &tensor) return;
  open_ = nullptr;
  coder_.start(tensor.encoding->spec, to_shape(tensor.shape));
  std::uint64_t at = tensor.pooled.value_or(0);
  for (const StoredPart& part : tensor.encoding->parts) {
    const tq::io::TensorInfo& from =
        tensor.pooled ? *pool_ : file_.info(part.name(tensor.name));
    const std::uint64_t size = *tq::io::storage_bytes(part.dtype, part.shape);
    if (part.kind == PartKind::codes) {
      codes_ = &from;
      codes_begin_ = at;
    } else {
      tq::io::Tensor stored{"", part.dtype, part.shape, {}};
      stored.bytes.resize(static_cast<std::size_t>(size));
      file_.read_range(from, at, stored.bytes);
      set_part(coder_.parameters(), part, std::move(stored));
    }
    if (tensor.pooled) at += size;
  }
  coder_.restore();
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
  if (tensor.plain != nullptr)
    return bytes(*tensor.plain, first * bits(tensor.dtype) / 8, size);
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
