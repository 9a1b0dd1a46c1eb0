// SPDX-License-Identifier: MIT
#include "unit/files/io_test.hpp"

#include <tq/containers/safetensors.hpp>
#include <tq/containers/safetensors_writer.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <random>
#include <span>
#include <string>

using namespace io_test;
using namespace tq::io;
using tq::errc;

namespace {

std::vector<Tensor> read_all(const SafetensorsReader& reader) {
  std::vector<Tensor> out;
  for (const TensorInfo& info : reader.tensors()) out.push_back(reader.read(info.name));
  return out;
}

}  // namespace

TEST_CASE("files of the reference writer are reproduced byte for byte") {
  const TempDir dir;
  for (const std::string name : {"all_dtypes", "three", "empty_object", "zero_sized", "scalar"}) {
    const fs::path source = golden / "safetensors/good" / (name + ".safetensors");
    if (!fs::exists(source)) continue;
    const SafetensorsReader reader = SafetensorsReader::open(source);
    std::vector<Tensor> tensors = read_all(reader);
    std::reverse(tensors.begin(), tensors.end());
    write_safetensors(dir / "m", tensors, reader.metadata());
    INFO(name);
    if (name == "all_dtypes" || name == "three") CHECK(slurp(dir / "m") == slurp(source));
    const SafetensorsReader back = SafetensorsReader::open(dir / "m");
    CHECK(back.tensors().size() == tensors.size());
    CHECK(back.metadata() == reader.metadata());
    for (const Tensor& t : tensors) {
      CHECK(back.read(t.name).bytes == t.bytes);
      CHECK(back.info(t.name).shape == t.shape);
      CHECK(back.info(t.name).dtype == t.dtype);
    }
  }
}

TEST_CASE("an empty file is the one of the reference") {
  const TempDir dir;
  write_safetensors(dir / "m", {});
  CHECK(slurp(dir / "m") == std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST_CASE("names and metadata survive escaping") {
  const TempDir dir;
  const Metadata metadata{{"quote\"\\", "line\nbreak\ttab\x01\x1f"},
                          {"\xc3\xa9", "\xf0\x9f\x98\x80"}};
  const std::vector<Tensor> tensors{{"a/\"b\"\\\x7f", DType::u8, {1}, {std::byte{5}}}};
  write_safetensors(dir / "m", tensors, metadata);
  const SafetensorsReader reader = SafetensorsReader::open(dir / "m");
  CHECK(reader.metadata() == metadata);
  CHECK(reader.tensors().at(0).name == tensors[0].name);
}

TEST_CASE("the size of a file is known before it is written") {
  const TempDir dir;
  const Metadata metadata{{"format", "pt"}};
  std::vector<Tensor> tensors;
  std::vector<TensorDecl> declarations;
  std::uint64_t least = 0;
  for (const std::size_t n : {3u, 700u, 0u, 40000u, 1u}) {
    INFO(n);
    const std::string name = "w\"" + std::to_string(n);
    tensors.push_back({name, DType::bf16, {n, 2}, std::vector<std::byte>(4 * n)});
    declarations.push_back({name, DType::bf16, {n, 2}});
    write_safetensors(dir / "m", tensors, metadata);
    CHECK(SafetensorsWriter::file_bytes(declarations, metadata) == fs::file_size(dir / "m"));
    // A first tensor adds no more than this to a file without one, but for the padding.
    const std::uint64_t own = SafetensorsWriter::least_bytes(declarations.back()),
                        none = SafetensorsWriter::file_bytes({}, metadata),
                        alone = SafetensorsWriter::file_bytes({&declarations.back(), 1}, metadata);
    CHECK(none - 7 + own <= alone);
    CHECK(alone <= none + own + 7);
    least += own;
    CHECK(none - 7 + least <= fs::file_size(dir / "m"));
  }
  TensorDecl raw{"raw", DType::u8, {}};
  raw.raw = RawTensor{"F6_E2M3", {4, 4}, 12};
  declarations.push_back(raw);
  const std::uint64_t bytes = SafetensorsWriter::file_bytes(declarations, metadata);
  SafetensorsWriter writer(dir / "m", declarations, metadata);
  for (const TensorInfo& t : writer.order())
    writer.write(t.name, std::vector<std::byte>(static_cast<std::size_t>(t.size_bytes)));
  writer.finish();
  CHECK(fs::file_size(dir / "m") == bytes);
  CHECK(
      SafetensorsWriter::least_bytes(raw) ==
      12 + std::string(R"(,"raw":{"dtype":"F6_E2M3","shape":[4,4],"data_offsets":[0,12]})").size());
}

TEST_CASE("tensors are asked for one at a time in the order of the file") {
  const TempDir dir;
  const std::vector<TensorDecl> declared{
      {"b", DType::u8, {2}}, {"z", DType::f32, {1}}, {"a", DType::u8, {1}}};
  SafetensorsWriter writer(dir / "m", declared, {{"format", "pt"}});
  CHECK(writer.order()[0].name == "z");
  std::string asked;
  writer.write_all([&](const TensorInfo& info) {
    asked += info.name;
    return Tensor{info.name, info.dtype, info.shape,
                  std::vector<std::byte>(static_cast<std::size_t>(info.size_bytes))};
  });
  CHECK(asked == "zab");
  const SafetensorsReader reader = SafetensorsReader::open(dir / "m");
  for (std::size_t i = 0; i < 3; ++i) CHECK(reader.tensors()[i].offset == writer.order()[i].offset);
}

TEST_CASE("tensors come in parts and in any order") {
  const TempDir dir;
  std::vector<TensorDecl> declared;
  std::vector<Tensor> tensors;
  std::mt19937 random(3);
  for (int i = 0; i < 9; ++i) {
    const std::size_t n = i == 4 ? 0 : i == 5 ? 300000 : random() % 70000;
    Tensor t{"t" + std::to_string(i), i % 2 == 0 ? DType::u8 : DType::f32, {n}, {}};
    t.bytes.resize(n * (i % 2 == 0 ? 1 : 4));
    for (std::byte& b : t.bytes) b = static_cast<std::byte>(random());
    declared.push_back({t.name, t.dtype, t.shape});
    tensors.push_back(std::move(t));
  }
  write_safetensors(dir / "whole", tensors);
  SafetensorsWriter writer(dir / "parts", declared);
  std::vector<std::size_t> at(tensors.size());
  CHECK(outcome_of([&] { writer.finish(); }).code == errc::bad_argument);
  for (std::size_t left = tensors.size() - 1; left != 0;) {
    const std::size_t i = random() % tensors.size();
    const std::span<const std::byte> rest =
        std::span<const std::byte>(tensors[i].bytes).subspan(at[i]);
    if (rest.empty()) continue;
    const std::size_t n =
        std::min<std::size_t>(rest.size(), 1 + random() % (random() % 8 == 0 ? 100000 : 9000));
    writer.append(tensors[i].name, rest.first(n));
    if ((at[i] += n) == tensors[i].bytes.size()) --left;
  }
  CHECK(outcome_of([&] { writer.append("t0", to_bytes("x")); }).code == errc::shape_mismatch);
  CHECK(outcome_of([&] { writer.append("t9", to_bytes("x")); }).code == errc::unknown_name);
  writer.finish();
  CHECK(slurp(dir / "parts") == slurp(dir / "whole"));
  SafetensorsWriter places(dir / "places", declared);  // halves, the second first
  for (const Tensor& t : tensors) {
    const std::span<const std::byte> bytes = t.bytes;
    const std::size_t middle = bytes.size() / 2;
    places.place(t.name, middle, bytes.subspan(middle));
    CHECK(outcome_of([&] { places.place(t.name, bytes.size(), to_bytes("x")); }).code ==
          errc::shape_mismatch);
    places.place(t.name, 0, bytes.first(middle));
  }
  CHECK(outcome_of([&] { places.place("t9", 0, to_bytes("x")); }).code == errc::unknown_name);
  places.finish();
  CHECK(slurp(dir / "places") == slurp(dir / "whole"));
  {
    SafetensorsWriter half(dir / "half", declared);
    half.append("t5", std::span<const std::byte>(tensors[5].bytes).first(3));
    const Outcome o = outcome_of([&] { half.finish(); });
    CHECK(o.code == errc::bad_argument);
  }
  CHECK_FALSE(fs::exists(dir / "half"));
}

TEST_CASE("tensors without elements need no data, wherever they are and whatever is beside them") {
  const TempDir dir;
  const TensorDecl none{"a", DType::f32, {0, 7}}, one{"b", DType::f32, {1}},
      last{"c", DType::i8, {2, 0}};
  for (const std::vector<TensorDecl>& declared : std::vector<std::vector<TensorDecl>>{
           {none}, {last}, {none, last}, {none, one}, {one, last}, {none, one, last}}) {
    for (const bool in_parts : {false, true}) {
      SafetensorsWriter writer(dir / "m", declared);
      for (const TensorInfo& t : writer.order()) {
        const std::vector<std::byte> bytes(static_cast<std::size_t>(t.size_bytes));
        if (t.size_bytes == 0 && in_parts) continue;
        if (in_parts) writer.append(t.name, bytes);
        else writer.write(t.name, bytes);
      }
      writer.finish();
      CHECK(SafetensorsReader::open(dir / "m").tensors().size() == declared.size());
    }
  }
  SafetensorsWriter writer(dir / "m", std::vector<TensorDecl>{none, one});
  CHECK(outcome_of([&] { writer.finish(); }).text.find(": b: expected data of every") !=
        std::string::npos);
}

TEST_CASE("misuse is refused and leaves the old file") {
  const TempDir dir;
  spill(dir / "m", "old");
  const std::vector<TensorDecl> two{{"a", DType::u8, {2}}, {"b", DType::u8, {2}}};
  {
    SafetensorsWriter writer(dir / "m", two);
    CHECK(outcome_of([&] { writer.write("b", to_bytes("xx")); }).code == errc::bad_argument);
    CHECK(outcome_of([&] { writer.write("a", to_bytes("xxx")); }).code == errc::shape_mismatch);
    writer.write("a", to_bytes("xx"));
    const Outcome o = outcome_of([&] { writer.finish(); });
    CHECK(o.code == errc::bad_argument);
    CHECK(o.text.find(": b: expected data of every declared tensor") != std::string::npos);
    CHECK(outcome_of([&] {
            writer.write_all([](const TensorInfo& info) {
              return Tensor{info.name, DType::i8, {2}, std::vector<std::byte>(2)};
            });
          }).code == errc::shape_mismatch);
  }
  const auto open = [&](std::vector<TensorDecl> declared, const Metadata& metadata = {}) {
    return outcome([&] { return SafetensorsWriter(dir / "m", declared, metadata); }).code;
  };
  CHECK(open({two[0], two[0]}) == errc::bad_argument);
  CHECK(open({{"__metadata__", DType::u8, {}}}) == errc::bad_argument);
  CHECK(open({{"\xff", DType::u8, {}}}) == errc::bad_argument);
  CHECK(open({}, {{"k", "\xc0\x80"}}) == errc::bad_argument);
  CHECK(open({{"c", DType::c128, {}}}) == errc::unsupported);
  CHECK(open({{"f", DType::f4, {3}}}) == errc::shape_mismatch);
  CHECK(open({{"h", DType::u8, {std::size_t{1} << 60}},
              {"i", DType::u8, {std::size_t{1} << 60}},
              {"j", DType::u8, {std::size_t{1} << 60}},
              {"k", DType::u8, {std::size_t{1} << 60}},
              {"l", DType::u8, {std::size_t{1} << 60}}}) == errc::bad_argument);
  CHECK(slurp(dir / "m") == "old");
  CHECK(dir.file_count() == 1);
}
