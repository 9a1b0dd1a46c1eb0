// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/model_contents.hpp.

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/checkpoints/quantized_checkpoint.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/hidden_file.hpp>
#include <tq/json/json.hpp>
#include <tq/json/model_sizes_json.hpp>
#include <tq/model/guess_node_kind.hpp>
#include <tq/model/model_size_finder.hpp>
#include <tq/model/model_sizes.hpp>
#include <tq/model/weight_axes.hpp>
#include <tq/store/description.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/missing_file.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/stored_parts.hpp>

#include <system_error>

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace tq::store {

namespace detail {

// Hidden files are counted in `hidden` only.
TQ_API std::vector<std::filesystem::path> files_ending_in(const std::filesystem::path& folder,
                                                          std::string_view ending,
                                                          std::size_t& hidden) {
  std::vector<std::filesystem::path> files;
  std::error_code code;
  for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(ending)) continue;
    if (io::is_hidden(name)) ++hidden;
    else files.push_back(at->path());
  }
  if (code) tq::detail::raise_text(errc::io_failure, {folder.string(), ": ", code.message()});
  return files;
}

// True for a text pair "tq" of another program: it is no JSON object, and nothing in the file has
// the name of a part. Without the second condition, damage to a file of tq would show its parts.
TQ_API bool is_foreign(std::string_view text, std::span<const io::TensorInfo> tensors) {
  const std::size_t first = text.find_first_not_of(" \t\n\r");
  return (first == text.npos || text[first] != '{') &&
         std::none_of(tensors.begin(), tensors.end(), [](const io::TensorInfo& t) {
           return t.name.ends_with(".codes") || t.name.starts_with("tq.pool");
         });
}

}  // namespace detail

TQ_API std::filesystem::path model_file(const std::filesystem::path& path) {
  std::error_code code;
  if (!std::filesystem::is_directory(path, code)) {
    require_there(path);
    return path;
  }
  std::string got;
  std::size_t hidden = 0;
  for (const std::string_view ending : {".safetensors.index.json", ".safetensors"}) {
    const auto files = detail::files_ending_in(path, ending, hidden);
    if (files.size() == 1) return files.front();
    got = std::to_string(files.size()) + " files ending in " + std::string(ending);
    if (!files.empty()) break;
  }
  tq::detail::raise_expected(
      errc::bad_argument, path.string(),
      {"a folder with one .safetensors.index.json, or one .safetensors file"},
      {got, io::hidden_text(hidden)});
}

TQ_API const StoredTensor* ModelContents::find(std::string_view name) const {
  const auto place = index_.find(tensors_, name);
  return place ? &tensors_[*place] : nullptr;
}

TQ_API const std::vector<std::filesystem::path>& ModelContents::files() const noexcept {
  return file_.files();
}

TQ_API std::size_t ModelContents::place_of(const io::TensorInfo& info) const {
  return static_cast<std::size_t>(&info - file_.tensors().data());
}

TQ_API ModelContents::ModelContents(const std::filesystem::path& path)
    : file_(io::open_tensor_file(path)), taken_(file_.tensors().size()) {
  for (const io::Shard& shard : file_.shards()) {
    const auto pair = shard.metadata.find(metadata_key);
    if (pair == shard.metadata.end() || detail::is_foreign(pair->second, file_.tensors())) continue;
    described_ = true;
    detail::in_context(
        [&] {
          const bool is_one = file_.files().size() == 1;
          return (is_one ? path : path.parent_path() / shard.name).string();
        },
        [&] { read_metadata(shard, pair->second); });
  }
  quantized_ = tensors_.size();
  find_foreign(path);
  guess_kinds(path);
  index_ = io::NameIndex(tensors_.size());
  for (const StoredTensor& t : tensors_)
    if (!index_.add_next(tensors_))
      tq::detail::raise_text(errc::malformed, {path.string(), ": tensor ", io::shown(t.name),
                                               " is there quantized and as it was"});
}

TQ_API std::size_t ModelContents::shard_of(const io::TensorInfo& info) const {
  const std::vector<io::Shard>& shards = file_.shards();
  const auto after =
      std::upper_bound(shards.begin(), shards.end(), place_of(info),
                       [](std::size_t place, const io::Shard& s) { return place < s.first; });
  return static_cast<std::size_t>(after - shards.begin()) - 1;
}

TQ_API std::vector<const io::TensorInfo*> ModelContents::parts(const StoredTensor& tensor) const {
  if (tensor.plain != nullptr) return {tensor.plain};
  std::vector<const io::TensorInfo*> out;
  for (const auto& [role, name] : tensor.foreign->parts) out.push_back(&file_.info(name));
  return out;
}

TQ_API io::Metadata ModelContents::other_metadata() const {
  io::Metadata out = file_.metadata();
  if (is_described()) out.erase(metadata_key);
  return out;
}

TQ_API std::vector<PartPlace> ModelContents::places(const StoredTensor& tensor) const {
  std::vector<PartPlace> out;
  if (tensor.encoding == nullptr) {
    for (const io::TensorInfo* part : parts(tensor))
      out.push_back({{part->name, part->dtype, part->shape}, part, 0});
    return out;
  }
  std::uint64_t at = tensor.pooled;
  for (const StoredPart& part : tensor.encoding->parts) {
    std::string name = part.name(tensor.name);
    const io::TensorInfo& in = tensor.pool != nullptr ? *tensor.pool : file_.info(name);
    out.push_back({{std::move(name), part.dtype, part.shape}, &in, at});
    if (tensor.pool != nullptr) at += out.back().size();
  }
  return out;
}

TQ_API void ModelContents::find_foreign(const std::filesystem::path& path) {
  std::vector<const io::TensorInfo*> rest;
  std::vector<io::TensorInfo> copies;  // of the rest, where it is not the whole file
  rest.reserve(taken_.size());
  for (const io::TensorInfo& info : file_.tensors()) {
    if (taken_[place_of(info)]) continue;
    rest.push_back(&info);
    if (quantized_ != 0) copies.push_back(info);
  }
  const io::QuantizedCheckpoint found = io::find_quantized(
      quantized_ == 0 ? file_.tensors() : copies,
      [&](const std::string& name) { return file_.read(name); },
      io::read_checkpoint_hints(path.parent_path()));
  using Shared = std::shared_ptr<const io::CheckpointWeight>;
  std::unordered_map<std::string, std::vector<Shared>> part_of;  // several are of a stack
  for (const io::CheckpointWeight& weight : found.weights) {
    const auto shared = std::make_shared<const io::CheckpointWeight>(weight);
    for (const auto& [role, name] : weight.parts) part_of[name].push_back(shared);
  }
  std::set<const io::CheckpointWeight*> seen;
  tensors_.reserve(tensors_.size() + rest.size());
  for (const io::TensorInfo* info : rest) {
    if (const auto part = part_of.find(info->name); part != part_of.end()) {
      for (const Shared& weight : part->second)
        if (seen.insert(weight.get()).second) add_foreign(weight);
      continue;
    }
    StoredTensor t;
    t.plain = info;
    t.name = info->name;
    t.dtype = info->dtype;
    t.shape = info->shape;
    t.bytes = info->size_bytes;
    if (const io::GgufTensor* const stored = file_.find_blocks(info->name)) {
      t.blocks = layouts::gguf::info_of(stored->type).name;
      t.bytes = stored->size_bytes;
    }
    if (const auto left = found.left_alone.find(info->name); left != found.left_alone.end()) {
      t.left_alone = left->second.reason;
      t.is_unreadable = left->second.is_unreadable;
      t.is_of_activations = left->second.is_of_activations;
      if (t.is_unreadable && unreadable_.empty()) unreadable_ = t.left_alone;
    }
    tensors_.push_back(std::move(t));
  }
}

TQ_API void ModelContents::add_foreign(const std::shared_ptr<const io::CheckpointWeight>& weight) {
  StoredTensor t;
  t.foreign = weight;
  t.name = weight->name;
  t.dtype = weight->dtype;
  t.shape = weight->shape;
  for (const io::TensorInfo* p : parts(t)) t.bytes += p->size_bytes;
  if (weight->experts != 0) t.bytes /= weight->experts;
  tensors_.push_back(std::move(t));
}

TQ_API void ModelContents::guess_kinds(const std::filesystem::path& path) {
  ModelSizeFinder finder;
  for (const StoredTensor& t : tensors_) finder.add(t.name, t.shape);
  const ModelSizes sizes = finder.sizes(io::read_model_sizes(path.parent_path()));
  for (StoredTensor& t : tensors_) {
    t.kind = guess_node_kind(t.name, t.shape, sizes);
    t.axes = weight_axes(t.name, t.kind, t.shape, sizes);
  }
}

TQ_API const io::TensorInfo& ModelContents::take_part(const io::Shard& shard,
                                                      const std::string& name, io::DType dtype,
                                                      const std::vector<std::size_t>& shape) {
  const io::TensorInfo* const found = file_.find(name);
  const bool is_there =
      found != nullptr && !taken_[place_of(*found)] && place_of(*found) - shard.first < shard.count;
  const auto text = [](io::DType d, const std::vector<std::size_t>& s) {
    return std::string(to_string(d)) + " " + io::shape_text(s);
  };
  if (!is_there || found->dtype != dtype || found->shape != shape)
    tq::detail::raise_expected(errc::malformed, io::shown(name), {text(dtype, shape)},
                               {is_there ? text(found->dtype, found->shape) : "no such tensor"});
  taken_[place_of(*found)] = true;
  return *found;
}

TQ_API void ModelContents::read_metadata(const io::Shard& shard, const std::string& text) {
  const std::string path = "metadata \"tq\"";
  const io::Json document = io::parse_json(text, path);
  io::JsonFields fields(document, "tq", path);
  const std::int64_t number =
      fields.integer("version", 0, std::numeric_limits<std::int64_t>::max());
  if (number < 1 || number > layout_version)
    tq::detail::raise_text(errc::unsupported, {path, ": version: expected 1 to ", layout_version,
                                               ", got ", document["version"].dump()});
  const int version = static_cast<int>(number);
  const io::Json& entries = fields.at("tensors");
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

TQ_API void ModelContents::read_pool(const io::Json& pool, const io::Shard& shard, int version) {
  const std::string path = "metadata \"tq\"";
  io::JsonFields fields(pool, "tq", path);
  const std::string pool_name = fields.string("tensor");
  std::vector<StoredTensor> kinds;
  for (const io::Json& entry : fields.array("kinds")) {
    kinds.push_back(described_tensor(entry, path, version));
    kinds.back().bytes = kinds.back().encoding->layout.bytes();
  }
  const io::Json& names = fields.at("tensors");
  if (!names.is_object()) fields.refuse("tensors", "an object", fields.got(names));
  fields.finish();
  const std::size_t first = tensors_.size();
  std::uint64_t end = 0;
  for (const auto& [name, kind] : names.items()) {
    if (!kind.is_number_unsigned() || kind.get<std::uint64_t>() >= kinds.size())
      tq::detail::raise_text(errc::malformed,
                             {path, ": pool: tensor ", io::shown(name), ": expected one of ",
                              kinds.size(), " kinds, got ", kind.dump()});
    StoredTensor t = kinds[kind.get<std::size_t>()];
    t.name = name;
    t.pooled = end;
    if (t.bytes > std::numeric_limits<std::uint64_t>::max() - end)
      tq::detail::raise_text(errc::malformed,
                             {path, ": pool: expected less than 2^64 bytes, got more"});
    end += t.bytes;
    tensors_.push_back(std::move(t));
  }
  const io::TensorInfo& place =
      take_part(shard, pool_name, io::DType::u8, {static_cast<std::size_t>(end)});
  for (std::size_t i = first; i < tensors_.size(); ++i) tensors_[i].pool = &place;
}

}  // namespace tq::store
