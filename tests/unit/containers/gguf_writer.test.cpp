// SPDX-License-Identifier: MIT
#include "unit/containers/gguf_bytes.hpp"
#include "unit/files/io_test.hpp"

#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_file_bytes.hpp>
#include <tq/containers/gguf_writer.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

using namespace io_test;
using namespace tq::io;
using gguf_test::Bytes;
using tq::errc;
using tq::layouts::gguf::Type;

namespace {

std::vector<GgufTensorDecl> declarations_of(const GgufReader& reader) {
  std::vector<GgufTensorDecl> out;
  for (const GgufTensor& t : reader.tensors()) out.push_back({t.name, t.type, t.shape});
  return out;
}

}  // namespace

TEST_CASE("files of ggml are written again byte for byte") {
  const TempDir dir;
  for (const std::string name : {"all_kv", "all_quant", "no_tensors", "align64"}) {
    const fs::path source = golden / "conformance/gguf/files" / (name + ".gguf");
    const GgufReader reader = GgufReader::open(source);
    GgufWriter writer(dir / "m", reader.entries(), declarations_of(reader));
    // Last tensor first, in two parts.
    for (auto t = reader.tensors().rbegin(); t != reader.tensors().rend(); ++t) {
      const std::vector<std::byte> bytes = reader.read_bytes(t->name);
      const std::span<const std::byte> all(bytes);
      writer.append(t->name, all.first(all.size() / 2));
      writer.append(t->name, all.subspan(all.size() / 2));
    }
    writer.finish();
    INFO(name);
    CHECK(slurp(dir / "m") == slurp(source));
    CHECK(gguf_file_bytes(reader.entries(), declarations_of(reader)) == fs::file_size(source));
  }
}

TEST_CASE("a GGUF file has the bytes of its format") {
  const TempDir dir;
  const std::vector<GgufEntry> entries{{"general.alignment", std::uint32_t{16}},
                                       {"flags", GgufArray(std::vector<bool>{true, false})}};
  const std::vector<GgufTensorDecl> tensors{{"empty", Type::q4_0, {0, 32}},
                                            {"m", Type::f16, {3, 1}}};
  {
    GgufWriter writer(dir / "m", entries, tensors);
    writer.append("m", to_bytes("abcdef"));
    writer.finish();
  }
  Bytes expected;
  expected.header(2, 2).text("general.alignment").u32(4).u32(16);
  expected.text("flags").u32(9).u32(7).u64(2).raw(std::string("\1\0", 2));
  expected.tensor("empty", {32, 0}, 2, 0).tensor("m", {1, 3}, 1, 0).pad(16).raw("abcdef").pad(16);
  CHECK(slurp(dir / "m") == expected.str());
  CHECK(gguf_file_bytes(entries, tensors) == expected.str().size());
  CHECK(dir.file_count() == 1);
}

TEST_CASE("the padding of a GGUF file goes up to its last empty tensor") {
  const TempDir dir;
  const std::vector<GgufTensorDecl> tensors{
      {"m", Type::f16, {3}}, {"a", Type::f32, {0}}, {"b", Type::q8_0, {2, 0}}};
  GgufWriter writer(dir / "m", {}, tensors);
  writer.append("m", to_bytes("abcdef"));
  writer.finish();
  const GgufReader reader = GgufReader::open(dir / "m");
  CHECK(reader.read_bytes("m") == to_bytes("abcdef"));
  CHECK(reader.read_bytes("b").empty());
}

TEST_CASE("a GGUF writer refuses what its readers would, and leaves the target alone") {
  const TempDir dir;
  spill(dir / "m", "old");
  const auto refuses = [&](errc code, const char* part, const std::vector<GgufEntry>& entries,
                           const std::vector<GgufTensorDecl>& tensors) {
    const Outcome result = outcome_of([&] { GgufWriter(dir / "m", entries, tensors).finish(); });
    INFO(result.text);
    CHECK(result.code == code);
    CHECK(result.text.find(part) != std::string::npos);
    CHECK(slurp(dir / "m") == "old");
    CHECK(dir.file_count() == 1);
  };
  const auto u8 = [](const char* name) { return GgufEntry{name, std::uint8_t{1}}; };
  refuses(errc::bad_argument, "a key of", {u8("")}, {});
  refuses(errc::bad_argument, "a key of", {u8("k"), u8("k")}, {});
  refuses(errc::bad_argument, "a key of", {u8("\xff")}, {});
  refuses(errc::bad_argument, "UTF-8", {{"k", std::string("\xff")}}, {});
  refuses(errc::bad_argument, "UTF-8", {{"k", GgufArray(std::vector<std::string>{"\xff"})}}, {});
  refuses(errc::bad_argument, "an array of", {{"k", GgufArray(std::monostate())}}, {});
  refuses(errc::bad_argument, "power of two", {{"general.alignment", std::uint32_t{0}}}, {});
  refuses(errc::bad_argument, "uint32", {{"general.alignment", std::uint64_t{32}}}, {});
  refuses(errc::bad_argument, "a name of", {}, {{std::string(64, 'n'), Type::f32, {1}}});
  refuses(errc::bad_argument, "a name of", {}, {{"a", Type::f32, {1}}, {"a", Type::f32, {1}}});
  refuses(errc::shape_mismatch, "blocks of 256", {}, {{"a", Type::q4_K, {2, 128}}});
  refuses(errc::shape_mismatch, "4 extents", {}, {{"a", Type::f32, {1, 1, 1, 1, 1}}});
  refuses(errc::bad_argument, "2^62", {}, {{"a", Type::i8, {(std::size_t{1} << 62) + 1}}});
  refuses(errc::bad_argument, "4 bytes of every declared tensor", {}, {{"a", Type::f32, {1}}});
}

TEST_CASE("a GGUF writer takes the bytes that were declared") {
  const TempDir dir;
  const std::vector<GgufTensorDecl> tensors{{"a", Type::f32, {1}}};
  GgufWriter writer(dir / "m", {}, tensors);
  const std::vector<std::byte> bytes(5);
  CHECK(outcome_of([&] { writer.append("b", bytes); }).code == errc::unknown_name);
  CHECK(outcome_of([&] { writer.append("a", bytes); }).code == errc::shape_mismatch);
  CHECK_FALSE(fs::exists(dir / "m"));
}
