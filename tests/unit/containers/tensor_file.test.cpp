// SPDX-License-Identifier: MIT
// Every golden file through the uniform reader: the accepted ones byte for byte, the others
// refused.
#include "unit/files/io_test.hpp"

#include <tq/containers/tensor_file.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <thread>

using namespace io_test;
using tq::errc;

namespace {

tq::errc read_everything(const fs::path& path, std::string& text) {
  const Outcome o = outcome_of([&] {
    tq::io::TensorFile file = tq::io::open_tensor_file(path);
    for (const tq::io::TensorInfo& info : file.tensors()) static_cast<void>(file.read(info.name));
    for (const tq::io::OtherMember& other : file.others()) static_cast<void>(file.read(other.name));
  });
  text = o.text;
  return o.code;
}

void check_group(const std::string& group) {
  int accepted = 0, refused = 0;
  for (const auto& c : cases(group)) {
    const std::string name = c.at("file");
    const fs::path path = golden / group / name;
    INFO(group << "/" << name);
    REQUIRE(fs::exists(path));
    if (!c.at("accept").get<bool>()) {
      std::string text;
      const errc code = read_everything(path, text);
      INFO(text);
      const bool reasonable =
          code == errc::malformed || code == errc::unsupported || code == errc::io_failure;
      CHECK(reasonable);
      CHECK(text.starts_with("tq::io::"));
      // A good message names the file, what was expected and what came.
      CHECK(text.find(path.stem().string()) != std::string::npos);
      CHECK(text.find("expected") != std::string::npos);
      CHECK(text.find("got") != std::string::npos);
      ++refused;
      continue;
    }
    tq::io::TensorFile file = tq::io::open_tensor_file(path);
    if (c.contains("metadata")) CHECK(file.metadata() == c.at("metadata").get<tq::io::Metadata>());
    REQUIRE(file.tensors().size() == c.at("tensors").size());
    for (const auto& expected : c.at("tensors")) {
      const tq::io::Tensor t = file.read(expected.at("name"));
      INFO(t.name);
      CHECK(std::string(tq::io::to_string(t.dtype)) == expected.at("dtype").get<std::string>());
      CHECK(t.shape == expected.at("shape").get<std::vector<std::size_t>>());
      CHECK(hex(t.bytes) == expected.at("hex").get<std::string>());
    }
    ++accepted;
  }
  CHECK(accepted > 10);
  CHECK(refused > 20);
}

}  // namespace

TEST_CASE("golden safetensors files get their verdict") { check_group("safetensors"); }

TEST_CASE("golden npy and npz files get their verdict") { check_group("npy"); }

TEST_CASE("the files that are read are the one opened and the shards of an index") {
  const fs::path one = golden / "npy/good/le_f4.npy";
  CHECK(tq::io::open_tensor_file(one).files() == std::vector<fs::path>{one});
  const fs::path folder = golden / "safetensors/sharded";
  const auto files = tq::io::open_tensor_file(folder / "model.safetensors.index.json").files();
  REQUIRE(files.size() == 3);
  CHECK(files[0] == folder / "model.safetensors.index.json");
  for (const fs::path& file : files) CHECK(fs::exists(file));
  CHECK(files[1] < files[2]);
}

TEST_CASE("a file of another kind is refused by name") {
  const TempDir dir;
  const fs::path file = dir / "model.onnx";
  std::ofstream(file) << "onnx";
  const Outcome o = outcome([&] { return tq::io::open_tensor_file(file); });
  CHECK(o.code == errc::unsupported);
  CHECK(o.text ==
        "tq::io::open_tensor_file: " + file.string() +
            ": expected .npy, .npz, .safetensors, .index.json or .gguf, got extension \".onnx\"");
}

TEST_CASE("a missing file and a folder are failures of io") {
  const TempDir dir;
  CHECK(outcome([&] { return tq::io::open_tensor_file(dir / "none.npy"); }).code ==
        errc::io_failure);
  fs::create_directory(dir / "folder.npz");
  CHECK(outcome([&] { return tq::io::open_tensor_file(dir / "folder.npz"); }).code ==
        errc::io_failure);
}

TEST_CASE("an unknown tensor is refused by every kind of file") {
  for (const std::string name :
       {"npy/good/le_f4.npy", "npy/good/stored.npz", "safetensors/good/three.safetensors",
        "safetensors/sharded/model.safetensors.index.json"}) {
    tq::io::TensorFile file = tq::io::open_tensor_file(golden / name);
    const Outcome o = outcome([&] { return file.read("no such tensor"); });
    CHECK(o.code == errc::unknown_name);
    CHECK(o.text.find("no such tensor") != std::string::npos);
  }
}

TEST_CASE("ranges of a tensor are those bytes of the whole, in every kind of file") {
  int ranges = 0, failed = 0;
  for (const std::string group : {"safetensors", "npy"})
    for (const auto& c : cases(group)) {
      if (!c.at("accept").get<bool>()) continue;
      tq::io::TensorFile file =
          tq::io::open_tensor_file(golden / group / c.at("file").get<std::string>());
      for (const tq::io::TensorInfo& info : file.tensors()) {
        const std::vector<std::byte> whole = file.read(info.name).bytes;
        CHECK(file.info(info.name).size_bytes == whole.size());
        for (std::size_t begin = 0; begin <= whole.size(); begin += 1 + whole.size() / 5)
          for (std::size_t end = begin; end <= whole.size(); end += 1 + whole.size() / 4) {
            std::vector<std::byte> part(end - begin);
            file.read_range(info.name, begin, part);
            failed += !std::equal(part.begin(), part.end(),
                                  whole.begin() + static_cast<std::ptrdiff_t>(begin));
            ++ranges;
          }
        std::vector<std::byte> one(1);
        failed += outcome_of([&] { file.read_range(info.name, whole.size(), one); }).code !=
                  errc::bad_argument;
      }
      failed += outcome_of([&] { static_cast<void>(file.info("no such tensor")); }).code !=
                errc::unknown_name;
    }
  CHECK(failed == 0);
  CHECK(ranges > 500);
}

TEST_CASE("the shards of a file are the files its tensors are in, with their metadata") {
  for (const std::string name :
       {"npy/good/le_f4.npy", "npy/good/stored.npz", "safetensors/good/three.safetensors"}) {
    const tq::io::TensorFile file = tq::io::open_tensor_file(golden / name);
    REQUIRE(file.shards().size() == 1);
    CHECK(file.shards()[0].name == fs::path(name).filename());
    CHECK(file.shards()[0].metadata == file.metadata());
    CHECK(file.shards()[0].count == file.tensors().size());
  }
  const fs::path folder = golden / "safetensors/sharded";
  const auto file = tq::io::open_tensor_file(folder / "model.safetensors.index.json");
  std::size_t next = 0;
  for (const tq::io::Shard& shard : file.shards()) {
    const auto alone = tq::io::SafetensorsReader::open(folder / shard.name);
    CHECK(shard.metadata == alone.metadata());
    REQUIRE(shard.count == alone.tensors().size());
    CHECK(shard.first == next);
    for (std::size_t i = 0; i < shard.count; ++i)
      CHECK(file.tensors()[next + i].name == alone.tensors()[i].name);
    next += shard.count;
  }
  CHECK(file.shards().size() == 2);
  CHECK(next == file.tensors().size());
}

TEST_CASE("readers that share a file read on threads of their own") {
  for (const std::string name :
       {"npy/good/fortran_f4.npy", "npy/good/deflated.npz", "safetensors/good/three.safetensors",
        "safetensors/sharded/model.safetensors.index.json"}) {
    INFO(name);
    tq::io::TensorFile file = tq::io::open_tensor_file(golden / name);
    std::vector<std::vector<std::byte>> expected;
    for (const tq::io::TensorInfo& info : file.tensors())
      expected.push_back(file.read(info.name).bytes);
    std::array<int, 4> wrong{};
    {
      std::vector<std::thread> threads;
      for (int& count : wrong)
        threads.emplace_back([&count, &expected, mine = file.another()]() mutable {
          for (int round = 0; round < 50; ++round)
            for (std::size_t i = 0; i < expected.size(); ++i) {
              std::vector<std::byte> out(expected[i].size());
              mine.read_range(mine.tensors()[i], 0, out);
              count += out != expected[i];
            }
        });
      for (std::thread& t : threads) t.join();
    }
    CHECK(wrong == std::array<int, 4>{});
    CHECK(file.another().tensors().data() == file.tensors().data());
  }
}
