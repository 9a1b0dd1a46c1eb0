// SPDX-License-Identifier: MIT
#pragma once
// The identity of a run: the command and all files that values of its output depend on.

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/containers/gguf.hpp>
#include <tq/containers/safetensors_header.hpp>
#include <tq/error.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/detail/digest.hpp>
#include <tq/store/detail/quantize_plan.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#if TQ_IO_POSIX
#include <sys/stat.h>
#endif

namespace tq::store::detail {

// {"version", "options", "plan", "input": {file: {"path", "size", "time", "inode", "content"}}}.
// "input" has the files of the model, the configurations beside it, which need not exist, and
// `config`, if any, and those of Hessians. "content" is a digest: of all bytes of JSON files and of
// headers, and of 64 blocks of 16 KiB that are spread over a file of data, its first and last bytes
// included.
[[nodiscard]] inline io::Json identity_of(const ModelContents& model, const QuantizePlan& plan,
                                          const std::filesystem::path& config,
                                          const std::vector<std::filesystem::path>& hessians);

// The same of any run: `plan` is a digest of its tensors, `files` are those that values depend on,
// with the names that messages have for them.
using NamedFile = std::pair<std::string, std::filesystem::path>;
[[nodiscard]] inline io::Json identity_of(io::Json options, std::string plan,
                                          const std::vector<NamedFile>& files);

// The differences of a run from a run before it.
struct IdentityChange {
  std::vector<std::string> settings;  // "version", "options": another run
  std::vector<std::string> content;   // files of the input with other content, and how they differ
  std::vector<std::string> places;    // files with the same content as far as that is known

  [[nodiscard]] bool is_none() const {
    return settings.empty() && content.empty() && places.empty();
  }
};
[[nodiscard]] IdentityChange change_between(const io::Json& before, const io::Json& now);

// Adds bytes of a file to a digest, a block at a time.
class FileDigest {
 public:
  static constexpr std::uint64_t block = std::uint64_t{1} << 14, blocks = 64;

  explicit FileDigest(const std::filesystem::path& file) : source_(io::ByteSource::open(file)) {
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
    const auto size = io::load_le<std::uint64_t>(length.data());
    return size <= io::safetensors_max_header && size <= source_.size() - 8 ? size + 8 : 0;
  }
  [[nodiscard]] std::string text() const { return digest_.text(); }

 private:
  void add(std::uint64_t at, std::uint64_t count) {
    const std::span<std::byte> bytes = std::span(buffer_).first(static_cast<std::size_t>(count));
    source_.read(at, bytes);
    digest_.add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  io::ByteSource source_;
  Digest digest_;
  std::array<std::byte, block> buffer_;
};

// The bytes of a file that are looked at one by one: all of JSON, and headers.
inline std::uint64_t bytes_read_whole(const std::filesystem::path& file, const FileDigest& digest) {
  if (file.extension() == ".json") return digest.size();
  if (file.extension() != ".gguf") return digest.header_end();
  const auto reader = io::GgufReader::open(file, io::GgufByteOrder::any);
  return std::min(digest.size(), reader.data_offset());  // without tensors there is no padding
}

inline std::string digest_of_content(const std::filesystem::path& file) {
  try {
    FileDigest digest(file);
    const std::uint64_t data = bytes_read_whole(file, digest);
    digest.add_all(0, data);
    digest.add_sample(data, digest.size());
    return digest.text();
  } catch (const error&) {
    std::error_code code;
    return std::filesystem::exists(file, code) ? "unreadable" : "none";
  }
}

inline io::Json identity_of_file(const std::filesystem::path& file) {
  std::error_code code;
  const std::filesystem::path full = std::filesystem::weakly_canonical(file, code);
  io::Json out{{"path", (code ? file : full).string()}, {"content", digest_of_content(file)}};
#if TQ_IO_POSIX
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return out;
  out["inode"] = static_cast<std::uint64_t>(status.st_ino);
#endif
  const std::uintmax_t size = std::filesystem::file_size(file, code);
  if (!code) out["size"] = size;
  const auto time = std::filesystem::last_write_time(file, code).time_since_epoch().count();
  if (!code) out["time"] = std::to_string(time);
  return out;
}

// The tensors and the text pairs of all shards: what is made in which scheme.
inline std::string plan_digest(const ModelContents& model, const QuantizePlan& plan) {
  Digest digest;
  for (const OutputShard& shard : plan.shards) {
    digest.add(shard.name);
    for (const io::TensorDecl& t : shard.declarations(model))
      digest.add(t.name)
          .add(t.raw ? std::string_view(t.raw->dtype) : to_string(t.dtype))
          .add(io::shape_text(t.shape));
    for (const auto& [key, value] : shard.metadata()) digest.add(key).add(value);
  }
  return digest.text();
}

// "config.json (content)": the keys that differ.
inline std::string described_change(const std::string& file, const io::Json& before,
                                    const io::Json& now) {
  std::string keys;
  for (const char* const key : {"content", "path", "size", "time", "inode"})
    if (before.value(key, io::Json()) != now.value(key, io::Json()))
      keys += (keys.empty() ? "" : ", ") + std::string(key);
  return file + " (" + keys + ")";
}

inline void compare_inputs(const io::Json& before, const io::Json& now, IdentityChange& change) {
  if (!before.is_object()) {  // of another version
    change.places.emplace_back("all files");
    return;
  }
  for (const auto& [file, entry] : now.items()) {
    if (!before.contains(file)) change.content.push_back(file + " (new)");
    else if (const io::Json& old = before[file]; old != entry)
      (old.value("content", io::Json()) != entry["content"] ? change.content : change.places)
          .push_back(described_change(file, old, entry));
  }
  for (const auto& [file, entry] : before.items())
    if (!now.contains(file)) change.content.push_back(file + " (gone)");
}

inline io::Json identity_of(io::Json options, std::string plan,
                            const std::vector<NamedFile>& files) {
  io::Json input = io::Json::object();
  for (const auto& [name, file] : files) input[name] = identity_of_file(file);
  return {{"version", std::to_string(TQ_VERSION_MAJOR) + "." + std::to_string(TQ_VERSION_MINOR) +
                          "." + std::to_string(TQ_VERSION_PATCH)},
          {"options", std::move(options)},
          {"plan", std::move(plan)},
          {"input", std::move(input)}};
}

// The files of a model by their names in its folder, and the configurations beside them.
inline std::vector<NamedFile> model_files(const std::vector<std::filesystem::path>& model) {
  std::vector<NamedFile> files;
  const std::filesystem::path folder = model.front().parent_path();
  for (const std::filesystem::path& file : model)
    files.emplace_back(file.lexically_relative(folder).string(), file);
  for (const char* const name : io::checkpoint_hint_files) files.emplace_back(name, folder / name);
  return files;
}

inline io::Json identity_of(const ModelContents& model, const QuantizePlan& plan,
                            const std::filesystem::path& config,
                            const std::vector<std::filesystem::path>& hessians) {
  std::vector<NamedFile> files = model_files(model.files());
  if (!config.empty()) files.emplace_back("`config_file`", config);
  for (std::size_t i = 0; i < hessians.size(); ++i)
    files.emplace_back("`hessians`[" + std::to_string(i) + "]", hessians[i]);
  return identity_of(plan.options, plan_digest(model, plan), files);
}

inline IdentityChange change_between(const io::Json& before, const io::Json& now) {
  IdentityChange change;
  const io::Json old = before.is_object() ? before : io::Json::object();
  for (const char* const key : {"version", "options"})
    if (old.value(key, io::Json()) != now[key]) change.settings.emplace_back(key);
  compare_inputs(old.value("input", io::Json()), now["input"], change);
  // The plan follows from options and input: alone, it is that of another build of tq.
  if (change.is_none() && old.value("plan", io::Json()) != now["plan"])
    change.settings.emplace_back("plan");
  return change;
}

}  // namespace tq::store::detail
