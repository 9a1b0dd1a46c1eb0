// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/safetensors_index.hpp.

#include <tq/containers/safetensors_index.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/file_content.hpp>
#include <tq/files/syntax_error.hpp>

#include <memory>
#include <set>
#include <utility>

namespace tq::io {

namespace detail {

// {"metadata": {"total_size": n, ...}, "weight_map": {tensor: file, ...}}. Other content of
// "metadata", and other keys at the top, may be of any kind down to a fixed depth and are skipped.
// {"metadata": {"total_size": n, ...}, "weight_map": {tensor: file, ...}}. Other content of
// "metadata", and other keys at the top, may be of any kind down to a fixed depth and are skipped.
class SafetensorsIndexSax final : public StrictSax {
 public:
  std::map<std::string, std::string> weight_map;
  std::optional<std::uint64_t> total_size;
  bool has_map = false;

  TQ_API bool start_object(std::size_t) override;
  TQ_API bool key(string_t& name) override;
  bool end_object() override { return leave(); }
  TQ_API bool start_array(std::size_t) override;
  bool end_array() override { return leave(); }
  TQ_API bool string(string_t& text) override;
  bool null() override { return skipping() || refuse("null"); }
  bool boolean(bool) override { return skipping() || refuse("a boolean"); }
  bool number_integer(number_integer_t) override { return skipping() || refuse("a number"); }
  TQ_API bool number_float(number_float_t, const string_t&) override;
  TQ_API bool number_unsigned(number_unsigned_t value) override;

 private:
  static constexpr int max_depth = 128;

  [[nodiscard]] TQ_API bool is_known() const noexcept;
  // True at a value inside "metadata", and at one of a key that is not known.
  [[nodiscard]] TQ_API bool skipping() const noexcept;
  bool deeper(std::string_view got) { return ++skip_depth_ < max_depth || refuse(got); }
  TQ_API bool leave();
  [[nodiscard]] TQ_API std::string wanted() const override;
  [[nodiscard]] TQ_API std::string subject() const override;

  int depth_ = 0;       // 1: the document, 2: metadata or weight_map
  int skip_depth_ = 0;  // open values inside metadata
  std::string part_, key_;
  std::set<std::string> parts_, keys_;
};

TQ_API bool SafetensorsIndexSax::start_object(std::size_t) {
  if (skipping()) return deeper("an object");
  if (depth_ == 0 || (depth_ == 1 && is_known())) {
    ++depth_;
    keys_.clear();
    return true;
  }
  return refuse("an object");
}

TQ_API bool SafetensorsIndexSax::key(string_t& name) {
  if (skip_depth_ > 0) return true;
  if (depth_ == 1) {
    if (!parts_.insert(name).second) return stop(expected_got("one " + name, "two"));
    part_ = name;
    key_.clear();
    has_map = has_map || name == "weight_map";
    return true;
  }
  key_ = name;
  const bool first = part_ == "weight_map" ? !weight_map.contains(name) : keys_.insert(name).second;
  return first || stop(shown(name) + ": " + expected_got("every key once", "it twice"));
}

TQ_API bool SafetensorsIndexSax::start_array(std::size_t) {
  return skipping() ? deeper("an array") : refuse("an array");
}

TQ_API bool SafetensorsIndexSax::string(string_t& text) {
  if (skipping()) return true;
  if (depth_ != 2) return refuse("a string");
  weight_map.emplace(key_, std::move(text));
  return true;
}

TQ_API bool SafetensorsIndexSax::number_float(number_float_t, const string_t&) {
  return skipping() || refuse("a number");
}

TQ_API bool SafetensorsIndexSax::number_unsigned(number_unsigned_t value) {
  if (!skipping()) return refuse("a number");
  if (skip_depth_ == 0 && depth_ == 2 && key_ == "total_size") total_size = value;
  return true;
}

TQ_API bool SafetensorsIndexSax::is_known() const noexcept {
  return part_ == "metadata" || part_ == "weight_map";
}

TQ_API bool SafetensorsIndexSax::skipping() const noexcept {
  return skip_depth_ > 0 || (depth_ == 2 && part_ == "metadata") ||
         (depth_ == 1 && !part_.empty() && !is_known());
}

TQ_API bool SafetensorsIndexSax::leave() {
  if (skip_depth_ > 0) --skip_depth_;
  else --depth_;
  return true;
}

TQ_API std::string SafetensorsIndexSax::wanted() const {
  if (skip_depth_ > 0) return "nesting of less than " + std::to_string(max_depth);
  return depth_ == 2 ? "a file name" : depth_ == 1 ? "an object" : "a JSON object";
}

TQ_API std::string SafetensorsIndexSax::subject() const {
  return depth_ == 2 ? part_ + ": " + shown(key_) + ": " : depth_ == 1 ? part_ + ": " : "";
}

TQ_API bool is_safe_shard_name(std::string_view name) {
  if (name.empty() || name.front() == '/' ||
      name.find_first_of(std::string_view("\\:\0", 3)) != name.npos)
    return false;
  while (!name.empty()) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == name.npos) return true;
    name.remove_prefix(slash + 1);
  }
  return false;  // ended in '/'
}

}  // namespace detail

TQ_API SafetensorsIndexReader SafetensorsIndexReader::open(const std::filesystem::path& path) {
  return SafetensorsIndexReader(path);
}

TQ_API const TensorInfo* SafetensorsIndexReader::find(std::string_view name) const {
  const std::optional<std::size_t> place = index_.find(tensors_, name);
  return place ? &tensors_[*place] : nullptr;
}

TQ_API const std::string& SafetensorsIndexReader::shard_of(const std::string& name) const {
  if (const auto other = other_index_.find(others_, name))
    fail(errc::unsupported, detail::shown(name), others_[*other].reason);
  const auto found = weight_map_.find(name);
  if (found == weight_map_.end())
    fail(errc::unknown_name, detail::shown(name), "expected a tensor of this name, got none");
  return found->second;
}

TQ_API const TensorInfo& SafetensorsIndexReader::info(const std::string& name) const {
  static_cast<void>(shard_of(name));
  return *find(name);
}

TQ_API void SafetensorsIndexReader::read_range(const std::string& name, std::uint64_t offset,
                                               std::span<std::byte> out) {
  open(name, open_).read_range(name, offset, out);
}

TQ_API const SafetensorsReader& SafetensorsIndexReader::open(const std::string& name,
                                                             OpenShard& shard) const {
  const std::string& wanted = shard_of(name);
  if (!shard.reader || shard.name != wanted) {
    shard.reader.emplace(SafetensorsReader::open(path_.parent_path() / wanted));
    shard.name = wanted;
  }
  const TensorInfo &known = *find(name), *now = shard.reader->find(name);
  if (now == nullptr || now->dtype != known.dtype || now->shape != known.shape)
    fail(errc::malformed, detail::shown(name),
         detail::expected_got(
             std::string(to_string(known.dtype)) + " " + shape_text(known.shape) + " in " +
                 detail::shown(wanted) + ", as when it was opened",
             now == nullptr ? "none"
                            : std::string(to_string(now->dtype)) + " " + shape_text(now->shape)));
  return *shard.reader;
}

TQ_API SafetensorsIndexReader::SafetensorsIndexReader(const std::filesystem::path& path)
    : path_(path) {
  parse();
  std::map<std::string, std::vector<const std::string*>> shards;  // with the tensors of each
  for (const auto& [tensor, shard] : weight_map_) {
    if (!detail::is_safe_shard_name(shard))
      fail(errc::malformed, detail::shown(tensor),
           detail::expected_got("a file beside the index, without \"..\"", detail::shown(shard)));
    shards[shard].push_back(&tensor);
  }
  files_.push_back(path);
  index_ = NameIndex(weight_map_.size());
  for (const auto& [shard, tensors] : shards) {
    check_shard(shard, tensors);
    files_.push_back(path.parent_path() / shard);
  }
  other_index_ = NameIndex(others_.size());
  for (std::size_t i = 0; i < others_.size(); ++i) (void)other_index_.add_next(others_);
}

TQ_API void SafetensorsIndexReader::parse() {
  const ByteSource source = ByteSource::open(path_);
  if (source.size() > safetensors_max_header)
    fail(
        errc::malformed, "",
        detail::expected_got("an index of at most 100000000 bytes", std::to_string(source.size())));
  std::string text(static_cast<std::size_t>(source.size()), '\0');
  source.read(0, std::as_writable_bytes(std::span<char>(text)));
  detail::SafetensorsIndexSax sax;
  if (!sax.run(text)) {
    const std::string content =
        foreign_content(std::string_view(text).substr(0, content_sample), text.size());
    if (!content.empty()) fail(errc::malformed, "", detail::expected_got("JSON", content));
    fail(errc::malformed, "",
         sax.error_position() == 0
             ? sax.message()
             : detail::expected_got("JSON", detail::syntax_error(text, sax.error_position())));
  }
  if (!sax.has_map) fail(errc::malformed, "", "expected weight_map, got none");
  weight_map_ = std::move(sax.weight_map);
  total_size_ = sax.total_size;
}

TQ_API void SafetensorsIndexReader::check_shard(const std::string& shard,
                                                const std::vector<const std::string*>& expected) {
  std::error_code code;
  if (!std::filesystem::exists(path_.parent_path() / shard, code))
    fail(errc::io_failure, detail::shown(*expected.front()),
         detail::expected_got("its shard " + detail::shown(shard), "no such file"));
  const SafetensorsReader reader = SafetensorsReader::open(path_.parent_path() / shard);
  const std::size_t first = tensors_.size();
  for (const TensorInfo& info : reader.tensors()) {
    const auto found = weight_map_.find(info.name);
    if (found == weight_map_.end()) {
      others_.push_back(
          {info.name, "expected the index to name " + detail::shown(shard) + ", got no entry"});
      continue;
    }
    if (found->second != shard)
      fail(errc::malformed, detail::shown(info.name),
           detail::expected_got("the index to name " + detail::shown(shard),
                                detail::shown(found->second)));
    tensors_.push_back(info);
    (void)index_.add_next(tensors_);
  }
  for (OtherMember other : reader.others()) {
    if (other.raw) other.raw->shard = shards_.size();
    others_.push_back(std::move(other));
  }
  for (const std::string* tensor : expected)
    if (!reader.contains(*tensor) && reader.find_other(*tensor) == nullptr)
      fail(errc::malformed, detail::shown(*tensor),
           detail::expected_got("this tensor in " + detail::shown(shard), "a shard without it"));
  metadata_.insert(reader.metadata().begin(), reader.metadata().end());
  shards_.push_back({shard, reader.metadata(), first, tensors_.size() - first});
}

TQ_API void SafetensorsIndexReader::fail(errc code, std::string_view item,
                                         std::string_view text) const {
  detail::fail(code, "tq::io::SafetensorsIndexReader", path_.string(), item, text);
}

}  // namespace tq::io
