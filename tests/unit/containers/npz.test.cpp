// SPDX-License-Identifier: MIT
#include "unit/files/io_test.hpp"

#include <tq/containers/npz.hpp>
#include <tq/containers/npz_writer.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>

using namespace io_test;
using namespace tq::io;
using tq::errc;

namespace {

std::vector<Tensor> parse(const std::string& text) {
  const std::vector<std::byte> bytes = to_bytes(text);
  const NpzReader reader(ByteSource::from_memory(bytes, "t.npz"));
  std::vector<Tensor> out;
  for (const TensorInfo& info : reader.tensors()) out.push_back(reader.read(info.name));
  return out;
}

std::string replaced(std::string text, std::size_t at, const std::string& by) {
  return text.replace(at, by.size(), by);
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
}

// One stored member whose directory entry gives sizes and offset in a zip64 field only, and a zip64
// end record: the layout of archives beyond 4 GiB.
std::string zip64_archive(const std::string& member, std::uint32_t crc) {
  std::string out;
  put(out, 0x04034b50, 4);
  for (const int v : {45, 0, 0, 0, 0}) put(out, static_cast<std::uint64_t>(v), 2);
  put(out, crc, 4);
  put(out, 0xffffffff, 4);
  put(out, 0xffffffff, 4);
  put(out, 5, 2);
  put(out, 20, 2);
  out += "w.npy";
  for (const int v : {1, 16}) put(out, static_cast<std::uint64_t>(v), 2);
  put(out, member.size(), 8);
  put(out, member.size(), 8);
  out += member;
  const std::uint64_t directory = out.size();
  put(out, 0x02014b50, 4);
  for (const int v : {45, 45, 0, 0, 0, 0}) put(out, static_cast<std::uint64_t>(v), 2);
  put(out, crc, 4);
  put(out, 0xffffffff, 4);
  put(out, 0xffffffff, 4);
  put(out, 5, 2);
  put(out, 28 + 6, 2);
  put(out, 0, 10);
  put(out, 0xffffffff, 4);
  out += "w.npy";
  for (const int v : {0x7777, 2, 0}) put(out, static_cast<std::uint64_t>(v), 2);  // another field
  for (const int v : {1, 24}) put(out, static_cast<std::uint64_t>(v), 2);
  put(out, member.size(), 8);
  put(out, member.size(), 8);
  put(out, 0, 8);
  const std::uint64_t end = out.size();
  put(out, 0x06064b50, 4);
  put(out, 44, 8);
  put(out, 45 | 45 << 16, 4);
  put(out, 0, 8);
  put(out, 1, 8);
  put(out, 1, 8);
  put(out, end - directory, 8);
  put(out, directory, 8);
  put(out, 0x07064b50, 4);
  put(out, 0, 4);
  put(out, end, 8);
  put(out, 1, 4);
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, 0xffffffff, 4);
  put(out, 0xffffffff, 4);
  put(out, 0xffffffff, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace

TEST_CASE("an archive is written, listed and read back") {
  const TempDir dir;
  std::vector<Tensor> tensors{
      from_float32("w", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}),
      from_float32("deep/name", {}, std::vector<float>{7}, DType::f16),
      Tensor{"empty", DType::i64, {0, 4}, {}},
      Tensor{"\xc3\xa9", DType::u8, {1}, {std::byte{9}}},
  };
  write_npz(dir / "a.npz", tensors);
  const NpzReader reader = NpzReader::open(dir / "a.npz");
  REQUIRE(reader.tensors().size() == tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CHECK(reader.tensors()[i].name == tensors[i].name);
    CHECK(reader.contains(tensors[i].name));
    const Tensor back = reader.read(tensors[i].name);
    CHECK(back.dtype == tensors[i].dtype);
    CHECK(back.shape == tensors[i].shape);
    CHECK(back.bytes == tensors[i].bytes);
  }
  write_npz(dir / "a.npz", {});
  CHECK(NpzReader::open(dir / "a.npz").tensors().empty());
}

TEST_CASE("a writer without finish, or with a bad member, leaves the old archive") {
  const TempDir dir;
  spill(dir / "a.npz", "old");
  const Tensor t{"t", DType::u8, {1}, {std::byte{1}}};
  {
    NpzWriter writer(dir / "a.npz");
    writer.add(t);
    CHECK(outcome_of([&] { writer.add(t); }).code == errc::bad_argument);
    CHECK(outcome_of([&] { writer.add(Tensor{"", DType::u8, {0}, {}}); }).code ==
          errc::bad_argument);
    CHECK(outcome_of([&] { writer.add(Tensor{"\xff", DType::u8, {0}, {}}); }).code ==
          errc::bad_argument);
    CHECK(outcome_of([&] { writer.add(Tensor{"b", DType::bf16, {0}, {}}); }).code ==
          errc::unsupported);
  }
  CHECK(slurp(dir / "a.npz") == "old");
  CHECK(dir.file_count() == 1);
}

TEST_CASE("an archive of the layout beyond 4 GiB is read") {
  const TempDir dir;
  write_npz(dir / "a.npz", std::vector<Tensor>{{"w", DType::u8, {4}, to_bytes("abcd")}});
  const std::string plain = slurp(dir / "a.npz");
  const std::string member = plain.substr(35, 128 + 4);  // after the local header and its name
  std::uint32_t crc = 0;
  for (int i = 3; i >= 0; --i)
    crc = crc << 8 | static_cast<unsigned char>(plain[14 + static_cast<std::size_t>(i)]);
  const std::string wide = zip64_archive(member, crc);
  REQUIRE(parse(wide).size() == 1);
  CHECK(parse(wide)[0].bytes == to_bytes("abcd"));
  for (std::size_t n = 0; n < wide.size(); ++n)
    REQUIRE(outcome([&] { return parse(wide.substr(0, n)); }).code == errc::malformed);
}

TEST_CASE("more than 65534 members need the zip64 end record") {
  const TempDir dir;
  {
    NpzWriter writer(dir / "a.npz");
    for (int i = 0; i < 65540; ++i) writer.add(Tensor{std::to_string(i), DType::u8, {0}, {}});
    writer.finish();
  }
  const NpzReader reader = NpzReader::open(dir / "a.npz");
  CHECK(reader.tensors().size() == 65540);
  CHECK(reader.tensors().back().name == "65539");
}

TEST_CASE("a wrong checksum is noticed, stored and deflated") {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string whole = slurp(golden / "npy/good" / name);
    const std::size_t entry = whole.find("PK\x01\x02");
    const Outcome o =
        outcome([&] { return parse(replaced(whole, entry + 16, std::string("\1\2\3\4"))); });
    CHECK(o.code == errc::malformed);
    CHECK(o.text.find("CRC-32") != std::string::npos);
    CHECK(o.text.starts_with("tq::io::read_npz: t.npz: \"w.npy\": expected "));
  }
}

TEST_CASE("a directory that lies is refused") {
  const std::string whole = slurp(golden / "npy/good/deflated.npz");
  const std::size_t entry = whole.find("PK\x01\x02");
  const std::size_t end = whole.rfind("PK\x05\x06");
  const std::string four("\xf0\xff\xff\x7f", 4);
  for (const std::size_t field : {entry + 20, entry + 24, entry + 42, end + 12, end + 16})
    CHECK(outcome([&] { return parse(replaced(whole, field, four)); }).code == errc::malformed);
  // one byte more or less than the data inflate to
  for (const int change : {-1, 1}) {
    std::string text = whole;
    text[entry + 24] = static_cast<char>(text[entry + 24] + change);
    CHECK(outcome([&] { return parse(text); }).code == errc::malformed);
  }
  CHECK(outcome([&] { return parse(replaced(whole, entry + 10, "\xc")); }).code ==
        errc::malformed);  // another method than the local header
  CHECK(outcome([&] { return parse(replaced(whole, entry + 46, "v")); }).code == errc::malformed);
  // two entries for the same bytes
  std::string twice = whole;
  const std::size_t second = whole.find("PK\x01\x02", entry + 4);
  twice.replace(second + 42, 4, std::string(4, '\0'));
  CHECK(outcome([&] { return parse(twice); }).code == errc::malformed);
}

TEST_CASE("an archive cut at any byte, or damaged at random, only raises") {
  std::mt19937 random(11);
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string whole = slurp(golden / "npy/good" / name);
    CHECK(parse(whole).size() == 3);
    for (std::size_t n = 0; n < whole.size(); ++n)
      REQUIRE(outcome([&] { return parse(whole.substr(0, n)); }).code == errc::malformed);
    for (int round = 0; round < 10000; ++round) {
      std::string text = whole;
      for (unsigned k = 0; k <= random() % 3; ++k)
        text[random() % text.size()] = static_cast<char>(random() % 256);
      static_cast<void>(outcome([&] { return parse(text); }));
    }
  }
}

TEST_CASE("members that are no tensors are listed, and only reading them is refused") {
  const TempDir dir;
  write_npz(dir / "a.npz", std::vector<Tensor>{{"b", DType::u8, {2}, to_bytes("xy")},
                                               {"text", DType::u8, {4}, to_bytes("abcd")},
                                               {"z", DType::u8, {1}, to_bytes("z")}});
  const std::string whole = slurp(dir / "a.npz");
  const std::size_t type = whole.find("'|u1'", whole.find("text.npy"));
  REQUIRE(type != std::string::npos);
  const auto others = [&](const std::string& archive, const std::string& name, errc reading) {
    const std::vector<std::byte> bytes = to_bytes(archive);
    const NpzReader reader(ByteSource::from_memory(bytes, "t.npz"));
    REQUIRE(reader.tensors().size() == 2);
    CHECK(reader.read("b").bytes == to_bytes("xy"));
    CHECK(reader.read("z").bytes == to_bytes("z"));
    REQUIRE(reader.others().size() == 1);
    CHECK(reader.others()[0].name == name);
    CHECK(reader.find(name) == nullptr);
    const Outcome o = outcome([&] { return reader.read(name); });
    CHECK(o.code == reading);
    CHECK(o.text.find(reader.others()[0].reason) != std::string::npos);
    return reader.others()[0].reason;
  };
  // Text, bytes, dates, objects and records.
  for (const char* descr : {"'<U1'", "'|S4'", "'<M8'", "'|O8'", "[    "}) {
    std::string archive = replaced(whole, type, descr);
    if (descr[0] == '[') archive = replaced(archive, type, "[('x'");
    INFO(descr);
    CHECK(others(archive, "text", errc::unsupported).starts_with("expected "));
  }
  CHECK(others(replaced(whole, type, "'<U1'"), "text", errc::unsupported).find("\"<U1\"") !=
        std::string::npos);
  // A folder, and a file that is no array: the name is there twice.
  for (const std::string name : {"texts///", "text.csv"}) {
    std::string archive = whole;
    for (std::size_t at = archive.find("text.npy"); at != archive.npos;
         at = archive.find("text.npy", at))
      archive.replace(at, name.size(), name);
    others(archive, name, errc::unsupported);
  }
  // An encrypted one, and one of another method.
  const std::size_t entry = whole.find("PK\x01\x02", whole.find("PK\x01\x02") + 4),
                    local = whole.find("PK\x03\x04", whole.find("PK\x03\x04") + 4);
  others(replaced(whole, entry + 8, "\1"), "text.npy", errc::unsupported);
  others(replaced(replaced(whole, entry + 10, "\xc"), local + 8, "\xc"), "text.npy",
         errc::unsupported);
  // A broken array is an error, and not in `others`.
  CHECK(outcome([&] { return parse(replaced(whole, type - 12, "?")); }).code == errc::malformed);
}
