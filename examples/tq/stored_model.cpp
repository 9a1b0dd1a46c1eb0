// SPDX-License-Identifier: MIT
#include "stored_model.hpp"

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

namespace {

Json description(const StoredTensor& t) {
  return {{"dtype", std::string(tq::io::safetensors_name(t.dtype))},
          {"shape", t.shape},
          {"spec", tq::io::spec_to_json(*t.spec)}};
}

bool is_same_kind(const StoredTensor& a, const StoredTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.spec == b.spec;
}

// The kinds of pooled tensors, each written once, and which one every tensor is.
class Kinds {
 public:
  void add(const StoredTensor& t) {
    if (last_ == nullptr || !is_same_kind(*last_, t)) {
      const auto [found, is_new] = numbers_.emplace(description(t).dump(), numbers_.size());
      if (is_new) kinds_.push_back(description(t));
      number_ = found->second;
      last_ = &t;
    }
    tensors_[t.name] = number_;
  }
  [[nodiscard]] bool empty() const { return kinds_.empty(); }
  [[nodiscard]] Json json(const std::string& pool) {
    return {{"tensor", pool}, {"kinds", std::move(kinds_)}, {"tensors", std::move(tensors_)}};
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  const StoredTensor* last_ = nullptr;
  std::size_t number_ = 0;
  Json kinds_ = Json::array(), tensors_ = Json::object();
};

// What both a tensor of its own and a kind of pooled tensors say.
StoredTensor described(const Json& entry, const std::string& path) {
  tq::io::JsonFields member(entry, "tq", path);
  StoredTensor t;
  const std::string dtype = member.string("dtype");
  const auto known = tq::io::dtype_from_safetensors(dtype);
  if (!known || !is_quantizable(*known))
    member.refuse("dtype", "F64, F32, F16 or BF16", tq::io::detail::shown(dtype));
  t.dtype = *known;
  for (const std::int64_t extent :
       member.integers("shape", 0, std::numeric_limits<std::int64_t>::max()))
    t.shape.push_back(static_cast<std::size_t>(extent));
  t.spec = spec_from(member.at("spec"), path);
  member.finish();
  if (!tq::io::storage_bytes(t.dtype, t.shape))
    member.refuse("shape", "less than 2^64 bits", tq::io::shape_text(t.shape));
  return t;
}

}  // namespace

std::string metadata_text(const std::vector<const StoredTensor*>& tensors,
                          const std::string& pool) {
  Json entries = Json::object();
  Kinds kinds;
  for (const StoredTensor* t : tensors)
    if (t->pooled) kinds.add(*t);
    else if (t->spec) entries[t->name] = description(*t);
  Json out{{"version", 1}, {"tensors", std::move(entries)}};
  if (!kinds.empty()) out["pool"] = kinds.json(pool);
  return out.dump();
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
  for (const tq::io::TensorInfo& info : file_.tensors())
    if (stored_.contains(info.name))
      tensors_.push_back({info.name, info.dtype, info.shape, std::nullopt, info.size_bytes});
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!index_.emplace(tensors_[i].name, i).second)
      throw tq::error(errc::malformed, file_name_ + ": tensor " +
                                           tq::io::detail::shown(tensors_[i].name) +
                                           " is there quantized and as it was");
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
  if (fields.integer("version", 0, std::numeric_limits<std::int64_t>::max()) != 1)
    throw tq::error(errc::unsupported,
                    path + ": version: expected 1, got " + document["version"].dump());
  const Json& entries = fields.at("tensors");
  if (!entries.is_object()) fields.refuse("tensors", "an object", fields.got(entries));
  if (fields.has("pool")) read_pool(fields.at("pool"), path);
  fields.finish();
  for (const auto& [name, entry] : entries.items()) {
    naming(name, [&, &name = name, &entry = entry] {
      StoredTensor t = described(entry, path);
      t.name = name;
      const tq::EncodedLayout layout = layout_of(*t.spec, to_shape(t.shape));
      for (const StoredPart& part : stored_parts(t.name, t.shape, *t.spec, layout))
        take_part(t, part);
      tensors_.push_back(std::move(t));
    });
  }
}

void StoredModel::read_pool(const Json& pool, const std::string& path) {
  tq::io::JsonFields fields(pool, "tq", path);
  pool_ = fields.string("tensor");
  std::vector<StoredTensor> kinds;
  for (const Json& entry : fields.array("kinds")) {
    kinds.push_back(described(entry, path));
    kinds.back().bytes =
        layout_of(*kinds.back().spec, to_shape(kinds.back().shape)).bytes();
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
  StoredTensor all;  // what it takes has been counted
  take_part(all, {PartKind::codes, pool_, DType::u8, {static_cast<std::size_t>(end)}});
}

tq::io::Tensor StoredModel::read(const StoredTensor& tensor) {
  if (!tensor.spec) return file_.read(tensor.name);
  tq::io::Tensor out{tensor.name, tensor.dtype, tensor.shape, {}};
  out.bytes.resize(static_cast<std::size_t>(tensor.plain_bytes()));
  std::span<std::byte> left(out.bytes);
  for_each_piece(tensor.elements(), [&](std::size_t first, std::size_t count) {
    const std::size_t size = tq::io::detail::bytes_of(tensor.dtype, count);
    read_part(tensor, first, count, left.first(size));
    left = left.subspan(size);
  });
  return out;
}

// Reads all parts but the codes.
void StoredModel::open(const StoredTensor& tensor) {
  if (open_ == &tensor) return;
  open_ = nullptr;
  coder_.start(*tensor.spec, to_shape(tensor.shape));
  std::uint64_t at = tensor.pooled.value_or(0);
  for (const StoredPart& part :
       stored_parts(tensor.name, tensor.shape, *tensor.spec, coder_.layout())) {
    const std::string& name = tensor.pooled ? pool_ : part.name;
    const std::uint64_t size = *tq::io::storage_bytes(part.dtype, part.shape);
    if (part.kind == PartKind::codes) {
      codes_ = name;
      codes_begin_ = at;
    } else {
      tq::io::Tensor stored{part.name, part.dtype, part.shape, {}};
      stored.bytes.resize(static_cast<std::size_t>(size));
      file_.read_range(name, at, stored.bytes);
      set_part(coder_.parameters(), part, std::move(stored));
    }
    if (tensor.pooled) at += size;
  }
  coder_.restore();
  open_ = &tensor;
}

void StoredModel::read_part(const StoredTensor& tensor, std::size_t first, std::size_t count,
                            std::span<std::byte> out) {
  if (!tensor.spec) {
    file_.read_range(tensor.name, first * bits(tensor.dtype) / 8, out);
    return;
  }
  naming(tensor.name, [&] {
    open(tensor);
    const std::size_t size = coder_.code_bytes(count);
    if (codes_read_.size() < size) codes_read_ = tq::Buffer<std::byte>(size);
    if (values_.size() < count) values_ = tq::Buffer<float>(count);
    const std::span<std::byte> codes = codes_read_.span().first(size);
    const std::span<float> values = values_.span().first(count);
    file_.read_range(codes_, codes_begin_ + coder_.code_bytes(first), codes);
    coder_.decode(first, codes, values);
    tq::io::from_float32(values, tensor.dtype, out);
  });
}

}  // namespace tool
