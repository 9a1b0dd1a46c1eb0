// SPDX-License-Identifier: MIT
#include "unit/containers/gguf_bytes.hpp"
#include "unit/files/io_test.hpp"

#include <tq/containers/gguf_tensors.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/tensor_file.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace io_test;
using namespace tq::io;
using gguf_test::Bytes;
using tq::errc;

TEST_CASE("blocks of a GGUF file are tensors of float32, and other types are as they are") {
  const fs::path folder = golden / "conformance/gguf";
  for (const std::string name : {"all_quant", "all_kv"}) {
    TensorFile file = open_tensor_file(folder / "files" / (name + ".gguf"));
    CHECK(file.tensors().size() == (name == "all_quant" ? 18u : 10u));
    for (const TensorInfo& info : file.tensors()) {
      INFO(info.name);
      const Tensor expected = read_npy(folder / "files_expected" / name / (info.name + ".npy"));
      const Tensor got = file.read(info.name);
      CHECK(got.shape == expected.shape);
      CHECK(got.bytes.size() == info.size_bytes);
      CHECK((file.find_blocks(info.name) != nullptr) == (name == "all_quant"));
      // Numerically: recorded zeros may have the other sign, and 16-bit floats are wide there.
      CHECK(to_float32(got) == to_float32(expected));
      std::vector<std::byte> last(std::min<std::size_t>(8, got.bytes.size()));
      file.read_range(info, info.size_bytes - last.size(), last);
      CHECK(std::equal(last.rbegin(), last.rend(), got.bytes.rbegin()));
    }
  }
}

TEST_CASE("a GGUF tensor of blocks that are not understood is listed, and an error to read") {
  const TempDir dir;
  Bytes bytes;
  bytes.header(2, 0).tensor("x", {256}, 16, 0).tensor("y", {1}, 0, 96).pad();
  bytes.raw(std::string(66, 'b')).pad().number(2.0f).pad();
  spill(dir / "m.gguf", bytes.str());
  const TensorFile file = open_tensor_file(dir / "m.gguf");
  REQUIRE(file.others().size() == 1);
  CHECK(file.others()[0].name == "x");
  CHECK(file.others()[0].reason.find("iq2_xxs") != std::string::npos);
  const GgufTensors tensors = GgufTensors::open(dir / "m.gguf");
  CHECK(tensors.read("y").bytes.size() == 4);
  CHECK(outcome([&] { return tensors.read("x").bytes.size(); }).code == errc::unsupported);
  CHECK(outcome([&] { return tensors.read("z").bytes.size(); }).code == errc::unknown_name);
  std::vector<std::byte> out(3);
  CHECK(outcome_of([&] { tensors.read_into("y", out); }).code == errc::shape_mismatch);
}
