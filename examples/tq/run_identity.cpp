// SPDX-License-Identifier: MIT
#include "run_identity.hpp"

#include "digest.hpp"

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/containers/safetensors_header.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#if TQ_IO_POSIX
#include <sys/stat.h>
#endif

namespace tool {

namespace fs = std::filesystem;
using tq::io::Json;

namespace {

// Adds bytes of a file to a digest, a block at a time.
class FileDigest {
 public:
  static constexpr std::uint64_t block = std::uint64_t{1} << 14, blocks = 64;

  explicit FileDigest(const fs::path& file) : source_(tq::io::ByteSource::open(file)) {
    digest_.add(source_.size());
  }
  [[nodiscard]] std::uint64_t size() const { return source_.size(); }

  void add_all(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin; at < end; at += block) add(at, std::min(block, end - at));
  }
  // The blocks of [begin, end), of which the first begins and the last ends there.
  void add_sample(std::uint64_t begin, std::uint64_t end) {
    if (end - begin <= block * blocks) return add_all(begin, end);
    const std::uint64_t last = end - begin - block, step = last / (blocks - 1);
    for (std::uint64_t i = 0; i + 1 < blocks; ++i) add(begin + i * step, block);
    add(begin + last, block);
  }
  // Where the data of a safetensors file begins; 0 of another file.
  [[nodiscard]] std::uint64_t header_end() const {
    std::array<std::byte, 8> length;
    if (source_.size() < length.size()) return 0;
    source_.read(0, length);
    const auto size = tq::io::load_le<std::uint64_t>(length.data());
    return size <= tq::io::safetensors_max_header && size <= source_.size() - 8 ? size + 8 : 0;
  }
  [[nodiscard]] std::string text() const { return digest_.text(); }

 private:
  void add(std::uint64_t at, std::uint64_t count) {
    const std::span<std::byte> bytes = std::span(buffer_).first(static_cast<std::size_t>(count));
    source_.read(at, bytes);
    digest_.add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  tq::io::ByteSource source_;
  Digest digest_;
  std::array<std::byte, block> buffer_;
};

std::string digest_of_content(const fs::path& file) {
  try {
    FileDigest digest(file);
    const bool is_json = file.extension() == ".json";
    const std::uint64_t data = is_json ? digest.size() : digest.header_end();
    digest.add_all(0, data);
    digest.add_sample(data, digest.size());
    return digest.text();
  } catch (const tq::error&) {
    std::error_code code;
    return fs::exists(file, code) ? "unreadable" : "none";
  }
}

Json identity_of_file(const fs::path& file) {
  std::error_code code;
  const fs::path full = fs::weakly_canonical(file, code);
  Json out{{"path", (code ? file : full).string()}, {"content", digest_of_content(file)}};
#if TQ_IO_POSIX
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return out;
  out["inode"] = static_cast<std::uint64_t>(status.st_ino);
#endif
  const std::uintmax_t size = fs::file_size(file, code);
  if (!code) out["size"] = size;
  const auto time = fs::last_write_time(file, code).time_since_epoch().count();
  if (!code) out["time"] = std::to_string(time);
  return out;
}

// The tensors and the text pairs of all shards: what is made in which scheme.
std::string plan_digest(const StoredModel& model, const QuantizePlan& plan) {
  Digest digest;
  for (const OutputShard& shard : plan.shards) {
    digest.add(shard.name);
    for (const tq::io::TensorDecl& t : shard.declarations(model))
      digest.add(t.name)
          .add(t.raw ? std::string_view(t.raw->dtype) : to_string(t.dtype))
          .add(tq::io::shape_text(t.shape));
    for (const auto& [key, value] : shard.metadata()) digest.add(key).add(value);
  }
  return digest.text();
}

// "config.json (content)": the keys that differ.
std::string described_change(const std::string& file, const Json& before, const Json& now) {
  std::string keys;
  for (const char* const key : {"content", "path", "size", "time", "inode"})
    if (before.value(key, Json()) != now.value(key, Json()))
      keys += (keys.empty() ? "" : ", ") + std::string(key);
  return file + " (" + keys + ")";
}

void compare_inputs(const Json& before, const Json& now, IdentityChange& change) {
  if (!before.is_object()) {  // of another version
    change.places.emplace_back("all files");
    return;
  }
  for (const auto& [file, entry] : now.items()) {
    if (!before.contains(file)) change.content.push_back(file + " (new)");
    else if (const Json& old = before[file]; old != entry)
      (old.value("content", Json()) != entry["content"] ? change.content : change.places)
          .push_back(described_change(file, old, entry));
  }
  for (const auto& [file, entry] : before.items())
    if (!now.contains(file)) change.content.push_back(file + " (gone)");
}

}  // namespace

Json identity_of(const StoredModel& model, const QuantizePlan& plan, const fs::path& config) {
  Json input = Json::object();
  const fs::path folder = model.files().front().parent_path();
  for (const fs::path& file : model.files())
    input[file.lexically_relative(folder).string()] = identity_of_file(file);
  for (const char* const name : tq::io::checkpoint_hint_files)
    input[name] = identity_of_file(folder / name);
  if (!config.empty()) input["--config"] = identity_of_file(config);
  return {{"version", std::to_string(TQ_VERSION_MAJOR) + "." + std::to_string(TQ_VERSION_MINOR) +
                          "." + std::to_string(TQ_VERSION_PATCH)},
          {"options", plan.options},
          {"plan", plan_digest(model, plan)},
          {"input", std::move(input)}};
}

IdentityChange change_between(const Json& before, const Json& now) {
  IdentityChange change;
  const Json old = before.is_object() ? before : Json::object();
  for (const char* const key : {"version", "options"})
    if (old.value(key, Json()) != now[key]) change.settings.emplace_back(key);
  compare_inputs(old.value("input", Json()), now["input"], change);
  // The plan follows from options and input: alone, it is that of another build of tq.
  if (change.is_none() && old.value("plan", Json()) != now["plan"])
    change.settings.emplace_back("plan");
  return change;
}

}  // namespace tool
