// SPDX-License-Identifier: MIT
// Models in several GGUF files.
#include "unit/containers/gguf_bytes.hpp"
#include "unit/files/io_test.hpp"

#include <tq/containers/gguf_parts.hpp>
#include <tq/containers/gguf_tensors.hpp>
#include <tq/containers/tensor_file.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace io_test;
using namespace tq::io;
using gguf_test::Bytes;
using tq::errc;

namespace {

// The keys of a part; none where there is no number.
struct Split {
  std::optional<std::uint16_t> number, count;
  std::optional<std::int32_t> tensors;
};

// A part with a float tensor [2] for each name, which is full of the value.
std::string part_of(const Split& split, const std::vector<std::pair<std::string, float>>& tensors,
                    bool has_key = false) {
  Bytes out;
  const auto keys = static_cast<std::uint64_t>(split.number.has_value() + split.count.has_value() +
                                               split.tensors.has_value() + has_key);
  out.header(tensors.size(), keys);
  if (has_key) out.text("general.architecture").u32(8).text("llama");
  if (split.number) out.text("split.no").u32(2).number(*split.number);
  if (split.tensors) out.text("split.tensors.count").u32(5).number(*split.tensors);
  if (split.count) out.text("split.count").u32(2).number(*split.count);
  std::uint64_t offset = 0;
  for (const auto& [name, value] : tensors) {
    out.tensor(name, {2}, 0, offset);
    offset += 32;
  }
  out.pad();
  for (const auto& [name, value] : tensors) out.number(value).number(value).pad();
  return out.str();
}

const std::string first = "m-00001-of-00003.gguf", second = "m-00002-of-00003.gguf",
                  third = "m-00003-of-00003.gguf";

// As llama-gguf-split --no-tensor-first-split makes them.
void write_parts(const TempDir& dir) {
  spill(dir / first, part_of({0, 3, 3}, {}, true));
  spill(dir / second, part_of({1, 3, 3}, {{"a", 1.0f}, {"b", 2.0f}}));
  spill(dir / third, part_of({2, 3, 3}, {{"c", 3.0f}}));
}

}  // namespace

TEST_CASE("a split GGUF model is opened by its first part") {
  const TempDir dir;
  write_parts(dir);
  const GgufParts parts = GgufParts::open(dir / first);
  REQUIRE(parts.files().size() == 3);
  CHECK(parts.paths()[2] == dir / third);
  CHECK(parts.entries().front().name == "general.architecture");

  TensorFile file = open_tensor_file(dir / first);
  CHECK(file.files().size() == 3);
  REQUIRE(file.shards().size() == 3);
  CHECK(file.shards()[1].name == second);
  CHECK(file.shards()[0].count == 0);
  CHECK(file.shards()[2].first == 2);
  REQUIRE(file.tensors().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    CHECK(file.tensors()[i].name == name);
    const auto value = static_cast<float>(i + 1);
    CHECK(to_float32(file.read(name)) == std::vector<float>{value, value});
  }
  CHECK(file.find("d") == nullptr);
  CHECK(file.find_blocks("a") == nullptr);
  // A file that says it is the only part is one, whatever its name.
  spill(dir / "one.gguf", part_of({0, 1, 1}, {{"a", 1.0f}}));
  CHECK(GgufParts::open(dir / "one.gguf").files().size() == 1);
}

TEST_CASE("parts of a GGUF model that are missing or of another model are refused") {
  const TempDir dir;
  const auto refused = [&](errc code, const char* file, const char* text,
                           const std::string& opened = first) {
    test::raises(code, {file, text},
                 [&] { static_cast<void>(open_tensor_file(dir / opened).tensors()); });
    write_parts(dir);
  };
  write_parts(dir);
  refused(errc::bad_argument,
          "m-00002-of-00003.gguf: expected the first of 3 parts, m-00001-of-00003", "got part 2",
          second);
  fs::rename(dir / first, dir / "n.gguf");
  refused(errc::bad_argument, "n.gguf", "a name that ends in -00001-of-00003.gguf, got \"n.gguf\"",
          "n.gguf");
  fs::remove(dir / third);
  refused(errc::io_failure, "m-00003-of-00003.gguf: expected part 3 of 3, as", "no such file");
  spill(dir / second, part_of({}, {{"a", 1.0f}, {"b", 2.0f}}));
  refused(errc::malformed,
          "m-00002-of-00003.gguf: expected split.no 1 of a part of the model of m-", "got none");
  spill(dir / second, part_of({2, 3, 3}, {{"a", 1.0f}, {"b", 2.0f}}));
  refused(errc::malformed, "m-00002-of-00003.gguf", "split.no 1 of a part");
  spill(dir / second, part_of({1, 4, 3}, {{"a", 1.0f}, {"b", 2.0f}}));
  refused(errc::malformed, "m-00002-of-00003.gguf", "split.count 3 of a part");
  spill(dir / second, part_of({1, 3, 7}, {{"a", 1.0f}, {"b", 2.0f}}));
  refused(errc::malformed, "m-00002-of-00003.gguf", "split.tensors.count 3 of a part");
  spill(dir / second, part_of({1, 3, 3}, {{"a", 1.0f}, {"c", 2.0f}}));
  refused(errc::malformed, "m-00003-of-00003.gguf: \"c\"", "it in an earlier part, too");
  spill(dir / second, part_of({1, 3, 3}, {{"a", 1.0f}}));
  refused(errc::malformed, "m-00001-of-00003.gguf: expected 3 tensors in all parts", "got 2");
  spill(dir / third, "GGUF");
  refused(errc::malformed, "m-00003-of-00003.gguf", "the version");
  // The numbers of parts are integers.
  const auto typed = [&](const char* key, std::uint32_t type, const std::string& value) {
    Bytes part;
    part.header(0, 1).text(key).u32(type).raw(value);
    return part.str();
  };
  const auto wrong = [&](const char* key, const std::string& part, const char* got) {
    spill(dir / first, part);
    refused(
        errc::malformed, first.c_str(),
        (std::string("expected an integer of at least 0 under ") + key + ", got " + got).c_str());
  };
  wrong("split.count", typed("split.count", 8, Bytes().text("3").str()), "a value of type string");
  wrong("split.count", typed("split.count", 6, std::string(4, '\0')), "a value of type float32");
  wrong("split.count", typed("split.count", 7, std::string(1, '\1')), "a value of type bool");
  wrong("split.count", typed("split.count", 5, std::string(4, '\xff')), "a negative int32");
  wrong("split.count",
        typed("split.count", 9, Bytes().u32(2).u64(1).number(std::uint16_t{3}).str()),
        "a value of type array");
  spill(dir / first, typed("split.count", 0, std::string(1, '\1')));
  CHECK(GgufParts::open(dir / first).files().size() == 1);
  Bytes part;
  part.header(0, 2).text("split.count").u32(2).number(std::uint16_t{3});
  part.text("split.no").u32(12).number(0.0);
  wrong("split.no", part.str(), "a value of type float64");
}
