// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/importance_file.hpp.

#include <tq/containers/gguf_value.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/missing_file.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>

namespace tq {

namespace store::detail {

// Reads the parts of the binary form, one after the other.
// Reads the parts of the binary form, one after the other.
class ImportanceCursor {
 public:
  explicit ImportanceCursor(const io::ByteSource& source) : source_(source) {}

  [[nodiscard]] std::uint64_t left() const { return source_.size() - at_; }
  [[nodiscard]] TQ_API std::int32_t count(const char* what);
  [[nodiscard]] TQ_API std::string text(const char* what);
  [[nodiscard]] TQ_API std::vector<float> floats(const char* what);
  [[noreturn]] TQ_API void refuse(const std::string& expected, const std::string& got) const;

 private:
  template <class N>
  N require(N bytes, const char* what) const {
    if (static_cast<std::uint64_t>(bytes) > left())
      refuse(std::string(what) + " of " + std::to_string(bytes) + " bytes",
             std::to_string(left()) + " bytes up to the end");
    return bytes;
  }
  TQ_API void read(std::span<std::byte> out);

  const io::ByteSource& source_;
  std::uint64_t at_ = 0;
};

TQ_API std::int32_t ImportanceCursor::count(const char* what) {
  require(4, what);
  std::array<std::byte, 4> bytes{};
  read(bytes);
  const auto value = io::load_le<std::int32_t>(bytes.data());
  if (value < 0) refuse(std::string(what) + " of at least 0", std::to_string(value));
  return value;
}

TQ_API std::string ImportanceCursor::text(const char* what) {
  std::string out(static_cast<std::size_t>(require(count(what), what)), '\0');
  read(std::as_writable_bytes(std::span<char>(out)));
  return out;
}

TQ_API std::vector<float> ImportanceCursor::floats(const char* what) {
  const auto n = static_cast<std::uint64_t>(count(what));
  require(4 * n, what);
  std::vector<std::byte> bytes(static_cast<std::size_t>(4 * n));
  read(bytes);
  std::vector<float> out(static_cast<std::size_t>(n));
  io::to_float32(io::DType::f32, bytes, out);
  return out;
}

TQ_API void ImportanceCursor::refuse(const std::string& expected, const std::string& got) const {
  tq::detail::raise_expected(errc::malformed, source_.name(), {expected}, {got, " at byte ", at_});
}

TQ_API void ImportanceCursor::read(std::span<std::byte> out) {
  source_.read(at_, out);
  at_ += out.size();
}

TQ_API void ReadImportance::add(const std::string& file, const std::string& name,
                                ImportanceSums::Weight weight) {
  for (const double sum : weight.sums)
    if (!(std::isfinite(sum) && sum >= 0))
      tq::detail::raise_text(
          errc::malformed, {file, ": weight ", io::shown(name),
                            ": expected finite numbers of at least 0, got ", std::to_string(sum)});
  if (!sums.weights.emplace(name, std::move(weight)).second)
    tq::detail::raise_expected(errc::malformed, file, {"every weight once"},
                               {io::shown(name), " twice"});
}

TQ_API ReadImportance read_binary_importance(const io::ByteSource& source) {
  ReadImportance out;
  ImportanceCursor in(source);
  const std::int32_t entries = in.count("a number of weights");
  for (std::int32_t i = 0; i < entries; ++i) {
    const std::string name = in.text("a name");
    const auto calls = static_cast<std::uint64_t>(std::max(1, in.count("a number of calls")));
    const std::vector<float> sums = in.floats("sums");
    ImportanceSums::Weight weight{{sums.begin(), sums.end()}, {calls * out.sums.chunk_size}};
    for (double& sum : weight.sums) sum *= out.sums.chunk_size;
    out.add(source.name(), name, std::move(weight));
  }
  if (in.left() == 0) return out;  // files of early versions end here
  out.chunks = static_cast<std::uint32_t>(in.count("a number of chunks"));
  out.sums.datasets.push_back(in.text("the name of a data set"));
  if (in.left() != 0) in.refuse("the end of the file", std::to_string(in.left()) + " more bytes");
  return out;
}

// The float32 numbers of a tensor.
TQ_API std::vector<float> importance_numbers(const io::GgufReader& file,
                                             const io::GgufTensor& tensor) {
  if (tensor.type != layouts::gguf::Type::f32)
    tq::detail::raise_text(errc::malformed,
                           {file.file_name(), ": tensor ", io::shown(tensor.name),
                            ": expected f32, got ", layouts::gguf::info_of(tensor.type).name});
  return io::to_float32(file.read(tensor.name));
}

TQ_API std::vector<std::uint64_t> importance_counts(const io::GgufReader& file,
                                                    const io::GgufTensor& tensor) {
  std::vector<std::uint64_t> out;
  for (const float count : importance_numbers(file, tensor)) {
    if (!(count >= 0.0f && count <= 0x1p53f))
      tq::detail::raise_text(errc::malformed,
                             {file.file_name(), ": tensor ", io::shown(tensor.name),
                              ": expected counts of 0 to 2^53, got ", count});
    out.push_back(static_cast<std::uint64_t>(std::llround(count)));
  }
  return out;
}

TQ_API void require_importance(const io::GgufReader& file) {
  const auto* const value = file.find_value("general.type");
  const auto* const type = value == nullptr ? nullptr : std::get_if<std::string>(value);
  const auto refuse = [&](const std::string& got) {
    tq::detail::raise_expected(errc::malformed, file.file_name(),
                               {"a file of `tq imatrix` or llama-imatrix"}, {got});
  };
  for (const io::GgufTensor& t : file.tensors())
    if (!t.name.ends_with(importance_sums_ending) && !t.name.ends_with(importance_counts_ending))
      refuse("one with a tensor " + io::shown(t.name));
  if (file.tensors().empty() && (type == nullptr || *type != "imatrix"))
    refuse("a GGUF file without tensors");
}

TQ_API ReadImportance read_gguf_importance(io::ByteSource source) {
  const io::GgufReader file(std::move(source));
  ReadImportance out;
  if (const auto* value = file.find_value("imatrix.datasets"))
    if (const auto* array = std::get_if<io::GgufArray>(value))
      if (const auto* names = std::get_if<std::vector<std::string>>(array))
        out.sums.datasets = *names;
  const auto number = [&](std::string_view key, std::uint32_t& to) {
    if (const auto* value = file.find_value(key))
      if (const auto* found = std::get_if<std::uint32_t>(value)) to = *found;
  };
  number("imatrix.chunk_count", out.chunks);
  number("imatrix.chunk_size", out.sums.chunk_size);
  out.sums.chunk_size = std::max(1u, out.sums.chunk_size);
  require_importance(file);
  for (const io::GgufTensor& t : file.tensors()) {
    if (!t.name.ends_with(importance_sums_ending)) continue;
    const std::string name = t.name.substr(0, t.name.size() - importance_sums_ending.size());
    const std::vector<float> sums = importance_numbers(file, t);
    std::vector<std::uint64_t> counts =
        importance_counts(file, file.info(name + std::string(importance_counts_ending)));
    if (counts.empty() || sums.size() % counts.size() != 0)
      tq::detail::raise_text(errc::malformed, {file.file_name(), ": weight ", io::shown(name),
                                               ": expected sums for each of ", counts.size(),
                                               " counts, got ", sums.size()});
    out.add(file.file_name(), name, {{sums.begin(), sums.end()}, std::move(counts)});
  }
  return out;
}

TQ_API ReadImportance read_any_importance(const std::filesystem::path& file) {
  require_there(file);
  io::ByteSource source = io::ByteSource::open(file);
  std::array<std::byte, 4> magic{};
  if (source.size() >= magic.size()) source.read(0, magic);
  const std::string text(reinterpret_cast<const char*>(magic.data()), magic.size());
  return text == "GGUF" ? read_gguf_importance(std::move(source)) : read_binary_importance(source);
}

}  // namespace store::detail

TQ_API ImportanceSums read_importance_sums(const std::filesystem::path& file) {
  return store::detail::read_any_importance(file).sums;
}

TQ_API ImportanceFile read_importance(const std::filesystem::path& file) {
  const store::detail::ReadImportance read = store::detail::read_any_importance(file);
  ImportanceFile out{{}, read.sums.datasets, read.chunks};
  for (const auto& [name, weight] : read.sums.weights)
    out.weights.emplace(name, store::detail::importance_of(weight));
  return out;
}

}  // namespace tq
