// SPDX-License-Identifier: MIT
#include "unit/files/io_test.hpp"

#include <tq/containers/safetensors.hpp>

#include "support/catch.hpp"

#include <array>
#include <string>

using namespace io_test;
using namespace tq::io;
using tq::errc;

namespace {

std::string file(const std::string& header, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i));
  return out + header + data;
}

std::size_t parse(const std::string& text) {
  const std::vector<std::byte> bytes = to_bytes(text);
  const SafetensorsReader reader(ByteSource::from_memory(bytes, "m.safetensors"));
  std::size_t total = 0;
  for (const TensorInfo& info : reader.tensors()) total += reader.read(info.name).bytes.size();
  return total;
}

}  // namespace

TEST_CASE("tensors are listed in the order of their data with their place in the file") {
  const SafetensorsReader reader =
      SafetensorsReader::open(golden / "safetensors/good/unordered_header.safetensors");
  const std::string whole = slurp(golden / "safetensors/good/unordered_header.safetensors");
  std::uint64_t at = reader.tensors().front().offset;
  for (const TensorInfo& info : reader.tensors()) {
    CHECK(info.offset == at);
    at += info.size_bytes;
    CHECK(reader.contains(info.name));
    CHECK(reader.info(info.name).offset == info.offset);
    CHECK(reader.read(info.name).bytes ==
          to_bytes(whole.substr(static_cast<std::size_t>(info.offset),
                                static_cast<std::size_t>(info.size_bytes))));
  }
  CHECK(at == whole.size());
}

TEST_CASE("a range of a tensor is read alone") {
  const std::vector<std::byte> bytes =
      to_bytes(file(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                    R"("b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
                    "abcdefg"));
  const SafetensorsReader reader(ByteSource::from_memory(bytes, "m"));
  std::array<std::byte, 2> out{};
  reader.read_range("b", 1, out);
  CHECK(hex(out) == "6566");
  reader.read_range("b", 4, {});
  const Outcome o = outcome_of([&] { reader.read_range("b", 3, out); });
  CHECK(o.code == errc::bad_argument);
  CHECK(o.text.find("\"b\"") != std::string::npos);
  CHECK(outcome_of([&] { reader.read_range("b", ~std::uint64_t{0}, out); }).code ==
        errc::bad_argument);
  CHECK(outcome_of([&] { reader.read_range("c", 0, out); }).code == errc::unknown_name);
}

TEST_CASE("messages name file, tensor, expected and got") {
  const Outcome shape = outcome([] {
    return parse(file(R"({"w.0":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"));
  });
  CHECK(shape.code == errc::malformed);
  CHECK(shape.text ==
        "tq::io::SafetensorsReader: m.safetensors: \"w.0\": expected 8 bytes for F32 [2], got 4, "
        "at offset 64");
}

TEST_CASE("a tensor of a type that is not known leaves the others as they are") {
  const std::vector<std::byte> bytes =
      to_bytes(file(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                    R"("b":{"dtype":"F33","shape":[1,3],"data_offsets":[2,5]},)"
                    R"("c":{"data_offsets":[5,6],"shape":[1],"dtype":"I8"}})",
                    "123456"));
  const SafetensorsReader reader(ByteSource::from_memory(bytes, "m.safetensors"));
  REQUIRE(reader.tensors().size() == 2);
  CHECK(reader.read("a").bytes == to_bytes("12"));
  CHECK(reader.read("c").bytes == to_bytes("6"));
  REQUIRE(reader.others().size() == 1);
  CHECK(reader.others()[0].name == "b");
  CHECK(reader.find("b") == nullptr);
  const Outcome o = outcome([&] { return reader.read("b"); });
  CHECK(o.code == errc::unsupported);
  CHECK(o.text ==
        "tq::io::SafetensorsReader: m.safetensors: \"b\": expected a dtype of the format, got "
        "\"F33\" [1, 3]");
  // Its place is checked as that of any other.
  CHECK(outcome([] {
          return parse(file(R"({"b":{"dtype":"F33","shape":[1],"data_offsets":[1,4]}})", "1234"));
        }).code == errc::malformed);
}

TEST_CASE("stricter rules than the reference reader") {
  const std::string rest = R"(,"shape":[4],"data_offsets":[0,4]}})";
  CHECK(parse(file(R"({"a":{"dtype":"U8")" + rest, "1234")) == 4);
  CHECK(outcome([&] { return parse(file(R"({"a":{"dtype":{"U8":null})" + rest, "1234")); }).code ==
        errc::malformed);
  CHECK(outcome([&] { return parse(file(R"({"a":{"x":1,"dtype":"U8")" + rest, "1234")); }).code ==
        errc::malformed);
  CHECK(outcome([&] { return parse(file(R"({"a":["U8",[4],[0,4]]})", "1234")); }).code ==
        errc::malformed);
  CHECK(outcome([&] { return parse(file(R"( {"a":{"dtype":"U8")" + rest, "1234")); }).code ==
        errc::malformed);
  CHECK(outcome([&] {
          return parse(file(R"({"a":{"dtype":"U8","shape":[-0],"data_offsets":[0,0]}})", ""));
        }).code == errc::malformed);
}

TEST_CASE("names that are equal only after unescaping are equal") {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  CHECK(outcome([&] {
          return parse(file("{\"a\":" + entry + ",\"\\u0061\":" + entry + "}", ""));
        }).code == errc::malformed);
  CHECK(outcome([&] {
          return parse(file("{\"a\":" + entry + ",\"b\":" + entry + "}", ""));
        }).code == errc::ok);
}

TEST_CASE("a safetensors file cut at any byte is refused") {
  const std::string whole = slurp(golden / "safetensors/good/three.safetensors");
  CHECK(parse(whole) > 0);
  for (std::size_t n = 0; n < whole.size(); ++n)
    REQUIRE(outcome([&] { return parse(whole.substr(0, n)); }).code == errc::malformed);
  REQUIRE(outcome([&] { return parse(whole + "x"); }).code == errc::malformed);
}

TEST_CASE("random damage of a safetensors file never does more than raise") {
  std::mt19937 random(3);
  const std::string whole = slurp(golden / "safetensors/good/three.safetensors");
  for (int round = 0; round < 20000; ++round) {
    std::string text = whole;
    for (unsigned k = 0; k <= random() % 3; ++k)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    static_cast<void>(outcome([&] { return parse(text); }));
  }
}

TEST_CASE("a file that shrinks after opening is a failure of io") {
  const TempDir dir;
  spill(dir / "m.safetensors",
        file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "1234"));
  const SafetensorsReader reader = SafetensorsReader::open(dir / "m.safetensors");
  fs::resize_file(dir / "m.safetensors", 20);
  CHECK(outcome([&] { return reader.read("a"); }).code == errc::io_failure);
}
