// SPDX-License-Identifier: MIT
// Readers of .npy, .npz, safetensors and GGUF: good files, bad files, and fuzzed ones.

#include "operators.hpp"

#include <tq/containers/gguf.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/npz.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/containers/safetensors_index.hpp>
#include <tq/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace conformance {

namespace {

// "must_reject" and "should_reject": read() throws tq::error, and nothing else.
template <class Read>
void require_rejection(const TensorFile& file, Read&& read) {
  static_cast<void>(file.existing());  // a missing file is an error of the data, not a rejection
  Reading reading = Reading::accepted;
  try {
    read();
  } catch (const tq::error&) {
    reading = Reading::rejected;
  }
  require(file.name, rejection(reading));
}

bool wants_rejection(const Case& c) {
  return c.tolerance.kind() == "must_reject" || c.tolerance.kind() == "should_reject";
}

template <class Reader>
void read_all(Reader&& reader) {
  if constexpr (requires { reader.tensors(); })
    for (const tq::io::TensorInfo& t : reader.tensors()) static_cast<void>(reader.read(t.name));
  else static_cast<void>(reader.read());
  if constexpr (requires { reader.others(); })  // what is listed, but is an error to read
    for (const tq::io::OtherMember& o : reader.others()) static_cast<void>(reader.read(o.name));
}

void read_bytes(const tq::io::GgufReader& reader) {
  for (const tq::io::GgufTensor& t : reader.tensors()) static_cast<void>(reader.read_bytes(t.name));
}

void require_count(std::size_t expected, std::size_t got) {
  if (expected != got)
    require("number of tensors", Difference{"", {}, std::to_string(expected), std::to_string(got)});
}

// Requires of a safetensors entry the name, dtype, shape and offsets from the data's start that the
// manifest gives.
void require_entry(const nlohmann::json& entry, const tq::io::TensorInfo& info,
                   std::uint64_t data_start) {
  const auto name = entry.at("name").get<std::string>();
  const auto dtype = entry.at("dtype").get<std::string>();
  const auto shape = entry.at("shape").get<std::vector<std::size_t>>();
  const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
  if (dtype != to_string(info.dtype))
    require(name, Difference{"type", {}, dtype, std::string(to_string(info.dtype))});
  if (shape != info.shape)
    require(name,
            Difference{"shape", {}, tq::io::shape_text(shape), tq::io::shape_text(info.shape)});
  if (offsets.at(0) != info.offset - data_start)
    require(
        name,
        Difference{
            "begin", {}, std::to_string(offsets.at(0)), std::to_string(info.offset - data_start)});
  if (offsets.at(1) - offsets.at(0) != info.size_bytes)
    require(name, Difference{"bytes",
                             {},
                             std::to_string(offsets.at(1) - offsets.at(0)),
                             std::to_string(info.size_bytes)});
}

// The message of readers that refuse a file by a rule that their comments document as stricter than
// the reference.
struct Rule {
  std::string_view format, text;
};
constexpr Rule documented_rules[] = {
    {"safetensors", "expected '{'"},
    {"safetensors", "expected every name once"},
    {"safetensors", "expected every key once"},
    {"safetensors", "expected every field once"},
    {"safetensors", "expected dtype, shape or data_offsets"},
    {"safetensors", "expected a dtype of the format"},
    {"gguf", "expected UTF-8 in"},
    {"gguf", "expected a bool of 0 or 1"},
    {"gguf", "fewer than 2^63 elements and bytes"},
    {"npy", "expected one each of descr, fortran_order, shape"},
    {"npy", "expected a non-negative integer"},
    {"npy", "expected an integer without leading zeros"},
    {"npy", "expected a string without escapes"},
    {"npy", "expected a quoted string"},
    {"npy", "got \"#\""},
    {"npy", "expected the end of the header"},
    {"npy", "expected a header inside the file of at most"},
};

Reading classify(std::string_view format, const tq::error& e) {
  if (e.code() == tq::errc::unsupported) return Reading::rejected_by_rule;  // a type tq cannot hold
  for (const Rule& r : documented_rules)
    if (r.format == format && std::string_view(e.what()).find(r.text) != std::string_view::npos)
      return Reading::rejected_by_rule;
  return Reading::rejected;
}

}  // namespace

void npy_read(const Case& c) {
  const TensorFile& file = c.input(0);
  if (wants_rejection(c)) {
    require_rejection(file, [&] { static_cast<void>(tq::io::read_npy(file.file)); });
    return;
  }
  const TensorFile& expected = c.output("expected");
  require("expected", within(c.tolerance, expected.load(), tq::io::read_npy(file.existing())));
}

void npz_read(const Case& c) {
  const TensorFile& file = c.input(0);
  if (wants_rejection(c)) {
    require_rejection(file, [&] { read_all(tq::io::NpzReader::open(file.file)); });
    return;
  }
  const auto reader = tq::io::NpzReader::open(file.existing());
  require_count(c.outputs.size(), reader.tensors().size());
  for (const TensorFile& t : c.outputs)
    require(t.name, within(c.tolerance, t.load(), reader.read(t.name)));
}

void safetensors_read(const Case& c) {
  const TensorFile& file = c.input(0);
  if (wants_rejection(c)) {
    require_rejection(file, [&] { read_all(tq::io::SafetensorsReader::open(file.file)); });
    return;
  }
  const auto reader = tq::io::SafetensorsReader::open(file.existing());
  const nlohmann::json entries = c.attribute("tensors", nlohmann::json::array());
  require_count(entries.size(), reader.tensors().size());
  read_all(reader);
  const std::uint64_t data_start = 8 + tq::io::load_le<std::uint64_t>(c.input(0).bytes().data());
  for (const nlohmann::json& entry : entries)
    require_entry(entry, reader.info(entry.at("name").get<std::string>()), data_start);
  for (const TensorFile& t : c.outputs) {  // the raw bytes; some cases give them for no tensor
    const Tensor expected = t.load();
    require(t.name, exact_bytes(expected.bytes, reader.read(t.name).bytes));
  }
  const nlohmann::json metadata = c.attribute("metadata", nlohmann::json());
  const nlohmann::json got = reader.metadata();
  if (metadata != got && !(metadata.is_null() && got.empty()))
    require("metadata", Difference{"", {}, metadata.dump(), got.dump()});
}

void safetensors_sharded_read(const Case& c) {
  const TensorFile& file = c.input(0);
  if (wants_rejection(c)) {
    require_rejection(file, [&] { read_all(tq::io::SafetensorsIndexReader::open(file.file)); });
    return;
  }
  auto reader = tq::io::SafetensorsIndexReader::open(file.existing());
  require_count(c.outputs.size(), reader.tensors().size());
  for (const TensorFile& t : c.outputs)
    require(t.name, within(c.tolerance, t.load(), reader.read(t.name)));
}

void fuzz_read(const Case& c) {
  const auto format = c.attributes.at("format").get<std::string>();
  if (format != "npy" && format != "npz" && format != "safetensors" && format != "gguf")
    throw Skip{"files of format " + format + " are not built yet"};
  const Tensor bytes = c.input("bytes").load(), verdicts = c.output("verdict").load();
  const std::vector<std::int64_t> offsets = integers(c.input("offsets").load());
  const std::vector<std::int64_t> verdict = integers(verdicts);
  if (offsets.size() != verdict.size() + 1)
    throw std::runtime_error("expected one offset more than verdicts, got " +
                             std::to_string(offsets.size()) + " and " +
                             std::to_string(verdict.size()));
  for (std::size_t i = 0; i < verdict.size(); ++i) {
    const std::int64_t begin = offsets[i], end = offsets[i + 1];
    if (begin < 0 || end < begin || static_cast<std::size_t>(end) > bytes.bytes.size())
      throw std::runtime_error("offsets leave the bytes at file " + std::to_string(i));
    // A copy of its own, so that a sanitizer sees any step over its end.
    const std::vector<std::byte> file(bytes.bytes.begin() + begin, bytes.bytes.begin() + end);
    const auto source = tq::io::ByteSource::from_memory(file);
    Reading reading = Reading::accepted;
    std::string text;
    try {
      if (format == "npy") read_all(tq::io::NpyReader(source));
      else if (format == "npz") read_all(tq::io::NpzReader(source));
      else if (format == "gguf") read_bytes(tq::io::GgufReader(source));
      else read_all(tq::io::SafetensorsReader(source));
    } catch (const tq::error& e) {
      reading = classify(format, e);
      text = e.what();
    }
    if (Verdict v = fuzz_verdict(static_cast<int>(verdict[i]), reading)) {
      v->index = i;
      if (!text.empty()) v->got += ": " + text;
      require("file", v);
    }
  }
}

}  // namespace conformance
