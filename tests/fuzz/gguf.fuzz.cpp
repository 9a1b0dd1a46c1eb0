// SPDX-License-Identifier: MIT
// GGUF files, with the importance matrices they may hold; bytes that do not begin as one are an
// importance matrix of the older form.
#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_tensors.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/write_importance.hpp>

#include "fuzz.hpp"
#include "scratch.hpp"

#include <fstream>
#include <iterator>

namespace {

using tq::io::GgufReader, tq::io::GgufTensor;

tq::io::ByteSource source_of(fuzz::Bytes bytes) {
  return tq::io::ByteSource::from_memory(std::as_bytes(bytes), "gguf");
}

const std::filesystem::path& folder() {
  static const fuzz::Scratch scratch;
  return scratch.path();
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Writes keys and tensors anew, little-endian. Types whose bytes cannot be swapped are refused.
void write_again(const GgufReader& reader, const std::filesystem::path& path) {
  std::vector<tq::io::GgufTensorDecl> declared;
  for (const GgufTensor& t : reader.tensors()) declared.push_back({t.name, t.type, t.shape});
  tq::io::GgufWriter writer(path, reader.entries(), declared);
  for (const GgufTensor& t : reader.tensors()) writer.append(t.name, reader.read_bytes(t.name));
  writer.finish();
}

// A file that was read is written as one that is read and written with the same bytes.
void check_writing(const GgufReader& reader) {
  const std::filesystem::path first = folder() / "first.gguf", second = folder() / "second.gguf";
  if (!fuzz::accepts([&] { write_again(reader, first); })) {
    fuzz::require(reader.is_big_endian(), "a little-endian file that can be written");
    return;
  }
  const GgufReader again = GgufReader::open(first);
  fuzz::require(again.entries().size() == reader.entries().size(), "all keys");
  fuzz::require(again.tensors().size() == reader.tensors().size(), "all tensors");
  for (const GgufTensor& t : reader.tensors())
    fuzz::require(again.read_bytes(t.name) == reader.read_bytes(t.name), "the bytes of a tensor");
  write_again(again, second);
  fuzz::require(content_of(first) == content_of(second), "the same file again");
}

void check_tensors(fuzz::Bytes bytes) {
  fuzz::accepts([&] {
    const tq::io::GgufTensors file{GgufReader(source_of(bytes))};
    for (const tq::io::TensorInfo& info : file.tensors()) {
      fuzz::require(file.find(info.name) == &info, "every name at its own place");
      fuzz::require(file.read(info.name).bytes.size() == info.size_bytes, "the announced size");
    }
  });
}

void check_importance(const tq::store::detail::ReadImportance& read) {
  for (const auto form : {tq::ImportanceForm::gguf, tq::ImportanceForm::dat}) {
    const std::filesystem::path path = folder() / "importance";
    if (!fuzz::accepts([&] { tq::write_importance(path, read.sums, form); })) continue;
    const tq::ImportanceFile again = tq::read_importance(path);
    for (const auto& [name, values] : again.weights)
      fuzz::require(values == tq::store::detail::importance_of(read.sums.weights.at(name)),
                    "the same means");
  }
  fuzz::accepts([&] {
    tq::ImportanceSums twice = read.sums;
    twice.merge(read.sums);
    fuzz::require(twice.weights.size() == read.sums.weights.size(), "the same weights");
  });
}

void check(fuzz::Bytes bytes) {
  if (bytes.empty() || bytes[0] != 'G') {
    fuzz::accepts(
        [&] { check_importance(tq::store::detail::read_binary_importance(source_of(bytes))); });
    return;
  }
  fuzz::accepts([&] {
    const GgufReader reader(source_of(bytes), tq::io::GgufByteOrder::any);
    std::uint64_t data = 0;
    for (const GgufTensor& t : reader.tensors()) {
      fuzz::require(reader.find(t.name) == &t, "every name at its own place");
      fuzz::require(tq::io::gguf_bytes(t.type, t.shape) == t.size_bytes, "bytes of whole blocks");
      data += t.size_bytes;
    }
    fuzz::require(data <= bytes.size(), "data inside the file");
    check_writing(reader);
  });
  check_tensors(bytes);
  fuzz::accepts(
      [&] { check_importance(tq::store::detail::read_gguf_importance(source_of(bytes))); });
}

const fuzz::Target target("gguf", check);

}  // namespace
