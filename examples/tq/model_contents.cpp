// SPDX-License-Identifier: MIT
#include "model_contents.hpp"

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/checkpoints/quantized_checkpoint.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace tool {

using tq::errc;
using tq::io::DType;
using tq::io::Json;

namespace {

std::vector<std::filesystem::path> files_ending_in(const std::filesystem::path& folder,
                                                   std::string_view ending) {
  std::vector<std::filesystem::path> files;
  std::error_code code;
  for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code))
    if (at->path().filename().string().ends_with(ending)) files.push_back(at->path());
  if (code) throw tq::error(errc::io_failure, folder.string() + ": " + code.message());
  return files;
}

// Whether a metadata pair "tq" is of another program: it is no JSON object, and nothing in the file
// has the name of a part. Without the second, damage to a file of tq would show its parts.
bool is_foreign(std::string_view text, std::span<const tq::io::TensorInfo> tensors) {
  const std::size_t first = text.find_first_not_of(" \t\n\r");
  return (first == text.npos || text[first] != '{') &&
         std::none_of(tensors.begin(), tensors.end(), [](const tq::io::TensorInfo& t) {
           return t.name.ends_with(".codes") || t.name.starts_with("tq.pool");
         });
}

}  // namespace

std::filesystem::path model_file(const std::filesystem::path& path) {
  std::error_code code;
  if (!std::filesystem::is_directory(path, code)) return path;
  std::string got;
  for (const std::string_view ending : {".safetensors.index.json", ".safetensors"}) {
    const auto files = files_ending_in(path, ending);
    if (files.size() == 1) return files.front();
    got = std::to_string(files.size()) + " files ending in " + std::string(ending);
    if (!files.empty()) break;
  }
  throw tq::error(errc::bad_argument,
                  path.string() +
                      ": expected a folder with one .safetensors.index.json, or one "
                      ".safetensors file, got " +
                      got);
}

ModelContents::ModelContents(const std::filesystem::path& path)
    : file_(tq::io::open_tensor_file(path)), taken_(file_.tensors().size()) {
  for (const tq::io::Shard& shard : file_.shards()) {
    const auto pair = shard.metadata.find(metadata_key);
    if (pair == shard.metadata.end() || is_foreign(pair->second, file_.tensors())) continue;
    described_ = true;
    try {
      read_metadata(shard, pair->second);
    } catch (const tq::error& e) {
      const bool is_one = file_.files().size() == 1;
      throw tq::error(e.code(),
                      (is_one ? path : path.parent_path() / shard.name).string() + ": " + e.what());
    }
  }
  quantized_ = tensors_.size();
  find_foreign(path);
  index_ = tq::io::NameIndex(tensors_.size());
  for (const StoredTensor& t : tensors_)
    if (!index_.add_next(tensors_))
      throw tq::error(errc::malformed, path.string() + ": tensor " + tq::io::detail::shown(t.name) +
                                           " is there quantized and as it was");
}

const StoredTensor* ModelContents::find(const std::string& name) const {
  const auto place = index_.find(tensors_, name);
  return place ? &tensors_[*place] : nullptr;
}

std::size_t ModelContents::shard_of(const tq::io::TensorInfo& info) const {
  const std::vector<tq::io::Shard>& shards = file_.shards();
  const auto after =
      std::upper_bound(shards.begin(), shards.end(), place_of(info),
                       [](std::size_t place, const tq::io::Shard& s) { return place < s.first; });
  return static_cast<std::size_t>(after - shards.begin()) - 1;
}

std::vector<const tq::io::TensorInfo*> ModelContents::parts(const StoredTensor& tensor) const {
  if (tensor.plain != nullptr) return {tensor.plain};
  std::vector<const tq::io::TensorInfo*> out;
  for (const auto& [role, name] : tensor.foreign->parts) out.push_back(&file_.info(name));
  return out;
}

// The tensors that tq did not quantize, in the order of the file; a weight of another program is
// where its first part was.
void ModelContents::find_foreign(const std::filesystem::path& path) {
  std::vector<const tq::io::TensorInfo*> rest;
  std::vector<tq::io::TensorInfo> copies;  // of the rest, where it is not the whole file
  rest.reserve(taken_.size());
  for (const tq::io::TensorInfo& info : file_.tensors()) {
    if (taken_[place_of(info)]) continue;
    rest.push_back(&info);
    if (quantized_ != 0) copies.push_back(info);
  }
  const tq::io::QuantizedCheckpoint found = tq::io::find_quantized(
      quantized_ == 0 ? file_.tensors() : copies,
      [&](const std::string& name) { return file_.read(name); },
      tq::io::read_checkpoint_hints(path.parent_path()));
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
        t.is_unreadable = left->second.is_unreadable;
        if (t.is_unreadable && unreadable_.empty()) unreadable_ = t.left_alone;
      }
    }
    tensors_.push_back(std::move(t));
  }
}

// Takes a part of a quantized tensor out of the stored ones, after a look at its type and shape.
const tq::io::TensorInfo& ModelContents::take_part(const tq::io::Shard& shard,
                                                   const std::string& name, DType dtype,
                                                   const std::vector<std::size_t>& shape) {
  const tq::io::TensorInfo* const found = file_.find(name);
  const bool is_there =
      found != nullptr && !taken_[place_of(*found)] && place_of(*found) - shard.first < shard.count;
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

void ModelContents::read_metadata(const tq::io::Shard& shard, const std::string& text) {
  const std::string path = "metadata \"tq\"";
  const Json document = tq::io::parse_json(text, path);
  tq::io::JsonFields fields(document, "tq", path);
  const std::int64_t number =
      fields.integer("version", 0, std::numeric_limits<std::int64_t>::max());
  if (number < 1 || number > layout_version)
    throw tq::error(errc::unsupported, path + ": version: expected 1 to " +
                                           std::to_string(layout_version) + ", got " +
                                           document["version"].dump());
  const int version = static_cast<int>(number);
  const Json& entries = fields.at("tensors");
  if (!entries.is_object()) fields.refuse("tensors", "an object", fields.got(entries));
  if (fields.has("pool")) read_pool(fields.at("pool"), shard, version);
  fields.finish();
  for (const auto& [name, entry] : entries.items()) {
    naming(name, [&, &name = name, &entry = entry] {
      StoredTensor t = described_tensor(entry, path, version);
      t.name = name;
      for (const StoredPart& part : t.encoding->parts)
        t.bytes += take_part(shard, part.name(name), part.dtype, part.shape).size_bytes;
      tensors_.push_back(std::move(t));
    });
  }
}

void ModelContents::read_pool(const Json& pool, const tq::io::Shard& shard, int version) {
  const std::string path = "metadata \"tq\"";
  tq::io::JsonFields fields(pool, "tq", path);
  const std::string pool_name = fields.string("tensor");
  std::vector<StoredTensor> kinds;
  for (const Json& entry : fields.array("kinds")) {
    kinds.push_back(described_tensor(entry, path, version));
    kinds.back().bytes = kinds.back().encoding->layout.bytes();
  }
  const Json& names = fields.at("tensors");
  if (!names.is_object()) fields.refuse("tensors", "an object", fields.got(names));
  fields.finish();
  const std::size_t first = tensors_.size();
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
  const tq::io::TensorInfo& place =
      take_part(shard, pool_name, DType::u8, {static_cast<std::size_t>(end)});
  for (std::size_t i = first; i < tensors_.size(); ++i) tensors_[i].pool = &place;
}

}  // namespace tool
