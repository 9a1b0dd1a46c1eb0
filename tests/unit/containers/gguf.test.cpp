// SPDX-License-Identifier: MIT
#include "unit/containers/gguf_bytes.hpp"
#include "unit/files/io_test.hpp"

#include <tq/containers/gguf.hpp>

#include "support/catch.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

using namespace io_test;
using namespace tq::io;
using gguf_test::Bytes;
using tq::errc;
using tq::layouts::gguf::Type;

namespace {

GgufReader read(const Bytes& bytes, GgufByteOrder order = GgufByteOrder::little) {
  return GgufReader(ByteSource::from_memory(bytes.span(), "memory"), order);
}

void refuses(const Bytes& bytes, std::initializer_list<const char*> parts) {
  const Outcome result = outcome([&] { return read(bytes).tensors().size(); });
  INFO(result.text);
  CHECK(result.code == errc::malformed);
  for (const char* part : parts) CHECK(result.text.find(part) != std::string::npos);
}

constexpr std::uint64_t huge = std::uint64_t{1} << 60;

}  // namespace

TEST_CASE("a GGUF file without tensors has keys in order") {
  Bytes bytes;
  bytes.header(0, 2).text("b").u32(4).u32(7).text("a").u32(8).text("x");
  const GgufReader reader = read(bytes);
  CHECK(reader.version() == 3);
  CHECK(reader.alignment() == 32);
  REQUIRE(reader.entries().size() == 2);
  CHECK(reader.entries()[0].name == "b");
  CHECK(std::get<std::uint32_t>(reader.entries()[0].value) == 7);
  CHECK(std::get<std::string>(*reader.find_value("a")) == "x");
  CHECK(reader.find_value("c") == nullptr);
}

TEST_CASE("GGUF files of version 2 and of other alignments are read") {
  Bytes bytes;
  bytes.header(2, 1, 2).text("general.alignment").u32(4).u32(8);
  bytes.tensor("w", {2, 1}, 0, 0).tensor("b", {1}, 24, 8).pad(8);
  const std::size_t start = bytes.str().size();
  bytes.number(1.5f).number(-2.0f).raw("\x05").pad(8);
  const GgufReader reader = read(bytes);
  CHECK(reader.version() == 2);
  CHECK(reader.data_offset() == start);
  CHECK(reader.info("w").shape == std::vector<std::size_t>{1, 2});
  CHECK(reader.info("b").offset == start + 8);
  const Tensor w = reader.read("w");
  CHECK(w.dtype == DType::f32);
  CHECK(load_le<float>(w.bytes.data()) == 1.5f);
  CHECK(load_le<float>(w.bytes.data() + 4) == -2.0f);
  CHECK(reader.read_bytes("b") == std::vector{std::byte{5}});
  CHECK(outcome([&] { return reader.read("c").bytes.size(); }).code == errc::unknown_name);
  std::vector<std::byte> out(5);
  CHECK(outcome_of([&] { reader.read_range(reader.info("w"), 4, out); }).code ==
        errc::bad_argument);
}

TEST_CASE("big-endian GGUF files are refused by name, or swapped") {
  Bytes bytes(true);
  bytes.header(3, 1)
      .text("k")
      .u32(9)
      .u32(2)
      .u64(2)
      .number<std::uint16_t>(258)
      .number<std::uint16_t>(3);
  bytes.tensor("f", {2}, 0, 0).tensor("q", {32}, 2, 32).tensor("z", {256}, 16, 64).pad();
  bytes.number(0.25f).number(-8.0f).pad();
  bytes.number<std::uint16_t>(0x3c00).raw("0123456789abcdef").pad();
  bytes.raw(std::string(66, 'z')).pad();
  refuses(bytes, {"expected a little-endian file", "big-endian", "at offset 4"});
  const GgufReader reader = read(bytes, GgufByteOrder::any);
  CHECK(reader.is_big_endian());
  CHECK(reader.version() == 3);
  CHECK(std::get<std::vector<std::uint16_t>>(std::get<GgufArray>(*reader.find_value("k"))) ==
        std::vector<std::uint16_t>{258, 3});
  const Tensor f = reader.read("f");
  CHECK(load_le<float>(f.bytes.data()) == 0.25f);
  CHECK(load_le<float>(f.bytes.data() + 4) == -8.0f);
  // Only the scale of a block is a number of several bytes.
  const std::vector<std::byte> q = reader.read_bytes("q");
  CHECK(load_le<std::uint16_t>(q.data()) == 0x3c00);
  CHECK(q[2] == std::byte{'0'});
  CHECK(q[17] == std::byte{'f'});
  std::vector<std::byte> part(9);
  CHECK(outcome_of([&] { reader.read_range(reader.info("q"), 0, part); }).code ==
        errc::bad_argument);
  CHECK(outcome([&] { return reader.read_bytes("z").size(); }).code == errc::unsupported);
  CHECK(outcome([&] { return reader.read("q").bytes.size(); }).code == errc::unsupported);
}

TEST_CASE(
    "a GGUF header that claims more than the file has is refused before anything is allocated") {
  refuses(Bytes().header(huge, 0), {"expected at most 0 tensors", "at offset 8"});
  refuses(Bytes().header(0, huge), {"expected at most 0 keys", "at offset 16"});
  refuses(Bytes().header(0, ~std::uint64_t{0}), {"keys", "18446744073709551615"});
  // Counts that the file is just too short for.
  refuses(Bytes().header(1, 0).raw(std::string(15, '\0')), {"expected at most 0 tensors"});
  refuses(Bytes().header(0, 1).u64(huge).raw("12345"), {"key 0", "bytes of a key"});
  refuses(Bytes().header(0, 1).text("k").u32(8).u64(huge), {"\"k\"", "bytes of a string"});
  refuses(Bytes().header(0, 1).text("k").u32(9).u32(12).u64(huge), {"elements of an array"});
  refuses(Bytes().header(0, 1).text("k").u32(9).u32(8).u64(2).u64(0),
          {"at most 1 elements of an array", "got 2"});
  refuses(Bytes().header(1, 0).tensor("a", {huge}, 0, 0), {"\"a\"", "data inside the file"});
  // Products that wrap, also to 0.
  const std::uint64_t half = std::uint64_t{1} << 40;
  refuses(Bytes().header(1, 0).tensor("a", {half, half}, 0, 0), {"2^63 elements"});
  refuses(Bytes().header(1, 0).tensor("a", {32, std::uint64_t{1} << 58}, 28, 0), {"2^63"});
  refuses(Bytes().header(1, 0).tensor("a", {std::uint64_t{1} << 63}, 0, 0), {"extent below 2^63"});
}

TEST_CASE("each rule of the format GGUF has a message with what was expected and what came") {
  refuses(Bytes().raw("GGU"), {"expected a GGUF file, got text"});
  refuses(Bytes().raw("GG\x01").u32(3), {"expected \"GGUF\""});
  refuses(Bytes().header(0, 0, 1), {"expected version 2 or 3, got 1, at offset 4"});
  refuses(Bytes().header(0, 1).text("").u32(0).raw("1"), {"key of 1 to 65535 bytes, got 0"});
  refuses(Bytes().header(0, 1).text("k").u32(13).u32(0),
          {"\"k\"", "type of value up to 12, got 13"});
  refuses(Bytes().header(0, 1).text("k").u32(7).raw("\x02"), {"expected a bool of 0 or 1, got 2"});
  refuses(Bytes().header(0, 1).text("k").u32(8).text("\xff"), {"expected UTF-8 in a string"});
  refuses(Bytes().header(0, 1).text("k").u32(9).u32(9).u64(0), {"got one of arrays"});
  refuses(Bytes().header(0, 2).text("k").u32(0).raw("1").text("k").u32(0).raw("2"),
          {"\"k\"", "expected every key once, got it twice"});
  refuses(Bytes().header(0, 1).text("general.alignment").u32(10).u64(32), {"uint32, got uint64"});
  refuses(Bytes().header(0, 1).text("general.alignment").u32(4).u32(24), {"power of two, got 24"});
  refuses(Bytes().header(1, 0).tensor(std::string(64, 'n'), {1}, 0, 0),
          {"at most 63 bytes, got 64"});
  refuses(Bytes().header(1, 0).tensor("a", {1, 1, 1, 1, 1}, 0, 0), {"at most 4 extents, got 5"});
  refuses(Bytes().header(1, 0).tensor("a", {1}, 4, 0), {"number of a type, got 4"});
  refuses(Bytes().header(1, 0).tensor("a", {33}, 2, 0), {"blocks of 32", "q4_0 [33]"});
  refuses(Bytes().header(1, 0).tensor("a", {1}, 0, 32), {"begin at 0", "got 32"});
  refuses(Bytes()
              .header(2, 0)
              .tensor("a", {1}, 24, 0)
              .tensor("a", {1}, 24, 32)
              .pad()
              .raw(std::string(64, 'd')),
          {"\"a\"", "expected every tensor name once"});
}

TEST_CASE("a GGUF file that ends within its last padding is refused") {
  Bytes bytes;
  bytes.header(1, 0).tensor("a", {1}, 24, 0).pad().raw(std::string(31, 'd'));
  refuses(bytes, {"expected 32 bytes of tensors, with padding", "is it cut off?"});
  bytes.raw("d");
  CHECK(read(bytes).read_bytes("a") == std::vector{std::byte{'d'}});
}

TEST_CASE("every cut of a GGUF file is refused") {
  const std::string whole = slurp(golden / "conformance/gguf/files/all_kv.gguf");
  REQUIRE(whole.size() > 1000);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::vector<std::byte> cut = to_bytes(whole.substr(0, n));
    const Outcome result =
        outcome([&] { return GgufReader(ByteSource::from_memory(cut)).tensors().size(); });
    INFO(n << ": " << result.text);
    REQUIRE(result.code == errc::malformed);
  }
}
