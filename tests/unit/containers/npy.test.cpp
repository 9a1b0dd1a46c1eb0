// SPDX-License-Identifier: MIT
#include "unit/files/io_test.hpp"

#include <tq/containers/npy.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <utility>

using namespace io_test;
using namespace tq::io;
using tq::errc;

namespace {

std::string npy(const std::string& dictionary, const std::string& data, char major = 1) {
  std::string out("\x93NUMPY", 6);
  out += major;
  out += '\0';
  out += static_cast<char>(dictionary.size() & 0xff);
  out += static_cast<char>(dictionary.size() >> 8);
  if (major > 1) out.append(2, '\0');
  return out + dictionary + data;
}

Tensor parse(const std::string& text) {
  const std::vector<std::byte> bytes = to_bytes(text);
  return NpyReader(ByteSource::from_memory(bytes, "t.npy"), "t").read();
}

std::string dict(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

}  // namespace

TEST_CASE("what is written is read back, any type, any rank") {
  const TempDir dir;
  for (const auto& row : tq::io::detail::dtype_rows)
    for (const std::vector<std::size_t>& shape :
         {std::vector<std::size_t>{}, {3}, {0}, {2, 0, 3}, {1, 2, 3, 4}}) {
      Tensor t{"t", row.dtype, shape, {}};
      const auto size = storage_bytes(row.dtype, shape);
      if (!size || row.npy.empty()) continue;
      for (std::size_t i = 0; i < *size; ++i) t.bytes.push_back(static_cast<std::byte>(i * 37));
      write_npy(dir / "t.npy", t);
      CHECK(slurp(dir / "t.npy").size() % 64 == *size % 64);
      const Tensor back = read_npy(dir / "t.npy");
      CHECK(back.name == "t");
      CHECK(back.dtype == t.dtype);
      CHECK(back.shape == t.shape);
      CHECK(back.bytes == t.bytes);
    }
  CHECK(dir.file_count() == 1);
}

TEST_CASE("the header is the one NumPy writes") {
  const TempDir dir;
  for (const char* name : {"le_f4", "one_d", "scalar_f4", "empty_3x0", "rank6", "bool", "le_u1"}) {
    const fs::path source = golden / "npy/good" / (std::string(name) + ".npy");
    write_npy(dir / "t.npy", read_npy(source));
    CHECK(slurp(dir / "t.npy").substr(0, 8) == slurp(source).substr(0, 8));
    CHECK(read_npy(dir / "t.npy").bytes == read_npy(source).bytes);
  }
  CHECK(tq::io::detail::npy_header_text(DType::f32, std::vector<std::size_t>{3}, "", "") ==
        std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }" + std::string(60, ' ') +
            "\n");
}

TEST_CASE("types .npy cannot name are not written and leave the old file") {
  const TempDir dir;
  spill(dir / "t.npy", "old");
  const Tensor t = from_float32("w", {1}, std::vector<float>{1.0f}, DType::bf16);
  const Outcome o = outcome_of([&] { write_npy(dir / "t.npy", t); });
  CHECK(o.code == errc::unsupported);
  CHECK(o.text.find("BF16") != std::string::npos);
  const Tensor wrong{"w", DType::f32, {2}, std::vector<std::byte>(7)};
  CHECK(outcome_of([&] { write_npy(dir / "t.npy", wrong); }).code == errc::shape_mismatch);
  CHECK(slurp(dir / "t.npy") == "old");
  CHECK(dir.file_count() == 1);
}

TEST_CASE("column-major data larger than the buffer are transposed") {
  // 300 x 20 x 5 in Fortran order, big-endian: element (i, j, k) holds its row-major place.
  std::string data;
  for (int k = 0; k < 5; ++k)
    for (int j = 0; j < 20; ++j)
      for (int i = 0; i < 300; ++i) {
        const int place = (i * 20 + j) * 5 + k;
        data += static_cast<char>(place >> 8);
        data += static_cast<char>(place & 0xff);
      }
  const std::vector<std::uint16_t> v =
      values<std::uint16_t>(parse(npy(dict(">u2", "True", "(300, 20, 5)"), data)));
  REQUIRE(v.size() == 30000);
  for (std::size_t i = 0; i < v.size(); ++i) REQUIRE(v[i] == i);
}

TEST_CASE("big-endian complex numbers swap each part") {
  const Tensor t = parse(npy(dict(">c8", "False", "()"), std::string("\1\2\3\4\5\6\7\10", 8)));
  CHECK(hex(t.bytes) == "0403020108070605");
}

TEST_CASE("headers other writers produce are read") {
  const std::string data(24, 'x');
  for (const std::string header : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
           "{\"descr\": \"<f4\", \"shape\": (2L, 3L), \"fortran_order\": False}\n",
           "  { 'shape' :( 2 , 3 , ) ,'fortran_order':True,'descr':'=f4' , }  \n",
           "{'descr': '|f4', 'fortran_order': False, 'shape': (2, 3), }",
       })
    for (const char version : std::string("\1\2\3")) {
      const Tensor t = parse(npy(header, data, version));
      CHECK(t.shape == std::vector<std::size_t>{2, 3});
      CHECK(t.dtype == DType::f32);
    }
  CHECK(parse(npy(dict("<f4", "False", "(2, 3)"), data + "more")).bytes.size() == 24);
}

TEST_CASE("broken headers are refused with the place") {
  const std::string data(24, 'x');
  const std::pair<std::string, errc> bad[] = {
      {dict("<f4", "False", "(2, -3)"), errc::malformed},
      {dict("<f4", "False", "(6)"), errc::malformed},
      {dict("<f4", "False", "(,)"), errc::malformed},
      {dict("<f4", "False", "(2,, 3)"), errc::malformed},
      {dict("<f4", "False", "(2 3)"), errc::malformed},
      {dict("<f4", "False", "(02, 3)"), errc::malformed},
      {dict("<f4", "False", "(2, 99999999999999999999)"), errc::malformed},
      {dict("<f4", "False", "(0, 18446744073709551616)"), errc::malformed},
      {dict("<f4", "Falsey", "(2, 3)"), errc::malformed},
      {dict("<f4", "0", "(2, 3)"), errc::malformed},
      {dict("<f4", "False", "(2, 3)") + "x", errc::malformed},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
       errc::malformed},
      {"{'descr': '<f4', 'fortran_order': False}", errc::malformed},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}", errc::malformed},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", errc::malformed},
      {"{'descr': '<f\\x34', 'fortran_order': False, 'shape': (2, 3)}", errc::malformed},
      {dict("|O", "False", "(2, 3)"), errc::unsupported},
      {dict("<V2", "False", "(2, 3)"), errc::unsupported},
      {dict("<f1", "False", "(2, 3)"), errc::unsupported},
      {dict("<U4", "False", "(2, 3)"), errc::unsupported},
      {dict("", "False", "(2, 3)"), errc::unsupported},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", errc::unsupported},
      {dict("<f4", "False", "(" + std::string(200, '1') + ")"), errc::malformed},
      {dict("<f4", "False", "(2, 3, 5)"), errc::malformed},  // more than the data
  };
  for (const auto& [header, code] : bad) {
    const Outcome o = outcome([&, h = header] { return parse(npy(h, data)); });
    INFO(header << " -> " << o.text);
    CHECK(o.code == code);
    CHECK(o.text.starts_with("tq::io::read_npy: t.npy: expected "));
    CHECK(o.text.find(", at offset ") != std::string::npos);
  }
  std::string deep = "(";
  for (int i = 0; i < 65; ++i) deep += "1,";
  CHECK(outcome([&] { return parse(npy(dict("<f4", "False", deep + ")"), data)); }).code ==
        errc::unsupported);
}

TEST_CASE("an npy file cut at any byte is refused") {
  for (const char* name : {"v2_f4.npy", "fortran_f4.npy", "complex64.npy"}) {
    const std::string whole = slurp(golden / "npy/good" / name);
    static_cast<void>(parse(whole));
    for (std::size_t n = 0; n < whole.size(); ++n)
      REQUIRE(outcome([&] { return parse(whole.substr(0, n)); }).code == errc::malformed);
  }
}

TEST_CASE("random damage of an npy file never does more than raise") {
  std::mt19937 random(7);
  const std::string whole = slurp(golden / "npy/good/fortran_be_i4.npy");
  for (int round = 0; round < 20000; ++round) {
    std::string text = whole;
    for (unsigned k = 0; k <= random() % 3; ++k)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    static_cast<void>(outcome([&] { return parse(text); }));
  }
}
