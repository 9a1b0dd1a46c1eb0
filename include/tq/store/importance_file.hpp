// SPDX-License-Identifier: MIT
#pragma once
// ImportanceFile: the importance matrix of a model, as llama-imatrix writes it.

#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/store/missing_file.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tq {

/// Mean squares of the inputs of weights, by the names of weights in GGUF files: for a weight of
/// n inputs n numbers, for m stacked matrices m times n.
struct ImportanceFile {
  std::map<std::string, std::vector<float>> weights{};
  std::vector<std::string> datasets{};  ///< the texts that the inputs come from
  std::uint32_t chunks = 0;             ///< of the texts
};

/// Reads a file of llama-imatrix, of the GGUF form or the older binary one. Throws:
/// `errc::malformed`, naming the weight, also for numbers that are negative or not finite;
/// `errc::io_failure`.
[[nodiscard]] inline ImportanceFile read_importance(const std::filesystem::path& file);

namespace store::detail {

// Reads the parts of the binary form, one after the other.
class ImportanceCursor {
 public:
  explicit ImportanceCursor(const io::ByteSource& source) : source_(source) {}

  [[nodiscard]] std::uint64_t left() const { return source_.size() - at_; }
  [[nodiscard]] std::int32_t count(const char* what) {
    require(4, what);
    std::array<std::byte, 4> bytes{};
    read(bytes);
    const auto value = io::load_le<std::int32_t>(bytes.data());
    if (value < 0) refuse(std::string(what) + " of at least 0", std::to_string(value));
    return value;
  }
  [[nodiscard]] std::string text(const char* what) {
    std::string out(static_cast<std::size_t>(require(count(what), what)), '\0');
    read(std::as_writable_bytes(std::span<char>(out)));
    return out;
  }
  [[nodiscard]] std::vector<float> floats(const char* what) {
    const auto n = static_cast<std::uint64_t>(count(what));
    require(4 * n, what);
    std::vector<std::byte> bytes(static_cast<std::size_t>(4 * n));
    read(bytes);
    std::vector<float> out(static_cast<std::size_t>(n));
    io::to_float32(io::DType::f32, bytes, out);
    return out;
  }
  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const {
    raise(errc::malformed, source_.name() + ": expected " + expected + ", got " + got +
                               " at byte " + std::to_string(at_));
  }

 private:
  template <class N>
  N require(N bytes, const char* what) const {
    if (static_cast<std::uint64_t>(bytes) > left())
      refuse(std::string(what) + " of " + std::to_string(bytes) + " bytes",
             std::to_string(left()) + " bytes up to the end");
    return bytes;
  }
  void read(std::span<std::byte> out) {
    source_.read(at_, out);
    at_ += out.size();
  }

  const io::ByteSource& source_;
  std::uint64_t at_ = 0;
};

inline void add_importance(ImportanceFile& to, const std::string& file, const std::string& name,
                           std::vector<float> weights) {
  for (const float w : weights)
    if (!(std::isfinite(w) && w >= 0))
      raise(errc::malformed, file + ": weight " + io::shown(name) +
                                 ": expected finite numbers of at least 0, got " +
                                 std::to_string(w));
  if (!to.weights.emplace(name, std::move(weights)).second)
    raise(errc::malformed,
          file + ": expected every weight once, got " + io::shown(name) + " twice");
}

// Sums of calls, which are divided by their number.
[[nodiscard]] inline ImportanceFile read_binary_importance(const io::ByteSource& source) {
  ImportanceFile out;
  ImportanceCursor in(source);
  const std::int32_t entries = in.count("a number of weights");
  for (std::int32_t i = 0; i < entries; ++i) {
    const std::string name = in.text("a name");
    const std::int32_t calls = in.count("a number of calls");
    std::vector<float> sums = in.floats("sums");
    if (calls > 0)
      for (float& sum : sums) sum /= static_cast<float>(calls);
    add_importance(out, source.name(), name, std::move(sums));
  }
  if (in.left() == 0) return out;  // files of early versions end here
  out.chunks = static_cast<std::uint32_t>(in.count("a number of chunks"));
  out.datasets.push_back(in.text("the name of a data set"));
  if (in.left() != 0) in.refuse("the end of the file", std::to_string(in.left()) + " more bytes");
  return out;
}

// Sums of squares "w.in_sum2" [matrices, inputs], and "w.counts", by which they are divided. A
// matrix without inputs gets 1.
[[nodiscard]] inline ImportanceFile read_gguf_importance(io::ByteSource source) {
  const io::GgufReader file(std::move(source));
  ImportanceFile out;
  if (const auto* value = file.find_value("imatrix.datasets"))
    if (const auto* array = std::get_if<io::GgufArray>(value))
      if (const auto* names = std::get_if<std::vector<std::string>>(array)) out.datasets = *names;
  if (const auto* value = file.find_value("imatrix.chunk_count"))
    if (const auto* chunks = std::get_if<std::uint32_t>(value)) out.chunks = *chunks;
  constexpr std::string_view ending = ".in_sum2";
  for (const io::GgufTensor& t : file.tensors()) {
    if (!t.name.ends_with(ending)) continue;
    const std::string name = t.name.substr(0, t.name.size() - ending.size());
    const auto floats = [&](const io::GgufTensor& tensor) {
      if (tensor.type != layouts::gguf::Type::f32)
        raise(errc::malformed, file.file_name() + ": tensor " + io::shown(tensor.name) +
                                   ": expected f32, got " +
                                   std::string(layouts::gguf::info_of(tensor.type).name));
      return io::to_float32(file.read(tensor.name));
    };
    std::vector<float> weights = floats(t);
    const std::vector<float> counts = floats(file.info(name + ".counts"));
    if (counts.empty() || weights.size() % counts.size() != 0)
      raise(errc::malformed, file.file_name() + ": weight " + io::shown(name) +
                                 ": expected sums for each of " + std::to_string(counts.size()) +
                                 " counts, got " + std::to_string(weights.size()));
    const std::size_t each = weights.size() / counts.size();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const float count = counts[i / each];
      weights[i] = count > 0 ? weights[i] / count : 1.0f;
    }
    add_importance(out, file.file_name(), name, std::move(weights));
  }
  return out;
}

}  // namespace store::detail

inline ImportanceFile read_importance(const std::filesystem::path& file) {
  store::require_there(file);
  io::ByteSource source = io::ByteSource::open(file);
  std::array<std::byte, 4> magic{};
  if (source.size() >= magic.size()) source.read(0, magic);
  const std::string text(reinterpret_cast<const char*>(magic.data()), magic.size());
  return text == "GGUF" ? store::detail::read_gguf_importance(std::move(source))
                        : store::detail::read_binary_importance(source);
}

}  // namespace tq
