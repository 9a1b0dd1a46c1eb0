// SPDX-License-Identifier: MIT
#include "unit/files/io_test.hpp"

#include <tq/containers/safetensors_index.hpp>
#include <tq/containers/safetensors_writer.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <string>

using namespace io_test;
using namespace tq::io;
using tq::errc;

namespace {

void write_shard(const fs::path& path, const std::vector<std::string>& names) {
  std::vector<Tensor> tensors;
  for (const std::string& n : names)
    tensors.push_back({n, DType::u8, {1}, to_bytes(n.substr(0, 1))});
  write_safetensors(path, tensors, {{"shard", path.filename().string()}});
}

Outcome open(const TempDir& dir, const std::string& json) {
  spill(dir / "m.index.json", json);
  return outcome([&] { return SafetensorsIndexReader::open(dir / "m.index.json"); });
}

}  // namespace

TEST_CASE("tensors come from the shard the index names") {
  const TempDir dir;
  fs::create_directory(dir / "sub");
  write_shard(dir / "1.safetensors", {"a", "b"});
  write_shard(dir / "sub/2.safetensors", {"c"});
  spill(dir / "m.index.json",
        R"({"metadata": {"total_size": 3, "x": [1, {"y": [null, true, -1, 0.5, "s"]}]},
            "weight_map": {"a": "1.safetensors", "b": "1.safetensors", "c": "sub/2.safetensors"}})");
  SafetensorsIndexReader reader = SafetensorsIndexReader::open(dir / "m.index.json");
  CHECK(reader.total_size() == 3u);
  CHECK(reader.tensors().size() == 3);
  CHECK(reader.shard_of("c") == "sub/2.safetensors");
  for (const char* name : {"c", "a", "b", "c"}) CHECK(reader.read(name).bytes == to_bytes(name));
  CHECK(reader.metadata().at("shard") == "1.safetensors");
  CHECK(outcome([&] { return reader.read("d"); }).code == errc::unknown_name);
}

TEST_CASE("index and shards must agree both ways") {
  const TempDir dir;
  write_shard(dir / "1.safetensors", {"a", "b"});
  write_shard(dir / "3.safetensors", {"b"});
  const Outcome other =
      open(dir, R"({"weight_map": {"a": "1.safetensors", "b": "3.safetensors"}})");
  CHECK(other.code == errc::malformed);
  CHECK(other.text.find("\"b\": expected the index to name \"1.safetensors\", got "
                        "\"3.safetensors\"") != std::string::npos);
  const Outcome missing = open(
      dir, R"({"weight_map": {"a": "1.safetensors", "b": "1.safetensors", "c": "1.safetensors"}})");
  CHECK(missing.code == errc::malformed);
  CHECK(missing.text.find("\"c\": expected this tensor in \"1.safetensors\"") != std::string::npos);
  const Outcome gone = open(dir, R"({"weight_map": {"a": "2.safetensors"}})");
  CHECK(gone.code == errc::io_failure);
  CHECK(gone.text.find("\"a\": expected its shard \"2.safetensors\"") != std::string::npos);
}

TEST_CASE("what an index does not name, and keys that are not known, are left out") {
  const TempDir dir;
  write_shard(dir / "s", {"a", "b"});
  for (const std::string key : {"", R"("other": {"weight_map": [1, {"x": null}]},)",
                                R"("version": 2,)", R"("list": [[], "t", true, -1, 1.5],)"}) {
    spill(dir / "m.index.json", "{" + key + R"("weight_map": {"a": "s"}})");
    SafetensorsIndexReader reader = SafetensorsIndexReader::open(dir / "m.index.json");
    REQUIRE(reader.tensors().size() == 1);
    CHECK(reader.read("a").name == "a");
    REQUIRE(reader.others().size() == 1);
    CHECK(reader.others()[0].name == "b");
    CHECK(reader.others()[0].reason == "expected the index to name \"s\", got no entry");
    CHECK(outcome([&] { return reader.read("b"); }).code == errc::unsupported);
    CHECK(reader.shards().at(0).count == 1);
  }
}

TEST_CASE("shard names may not leave the folder") {
  const TempDir dir;
  for (const std::string name : {"/etc/x", "../x", "a/../x", "a/..", "..", ".", "", "a//b", "a/",
                                 "./x", "C:x", "a\\\\b", "x\\u0000"}) {
    const Outcome o = open(dir, R"({"weight_map": {"t": ")" + name + "\"}}");
    INFO(name << " -> " << o.text);
    CHECK(o.code == errc::malformed);
    CHECK(o.text.find("\"t\"") != std::string::npos);
  }
}

TEST_CASE("an index that breaks its schema is refused") {
  const TempDir dir;
  write_shard(dir / "s", {"a"});
  CHECK(open(dir, R"({"weight_map": {"a": "s"}, "metadata": {}})").code == errc::ok);
  for (const std::string json :
       {R"()", R"([])", R"({})", R"({"metadata": {}})", R"({"weight_map": []})",
        R"({"weight_map": "s"})", R"({"weight_map": {"a": 1}})", R"({"weight_map": {"a": ["s"]}})",
        R"({"weight_map": {"a": {"b": "s"}}})", R"({"weight_map": {"a": "s", "a": "s"}})",
        R"({"weight_map": {"a": "s"}, "weight_map": {"a": "s"}})",
        R"({"metadata": {"x": 1, "x": 2}, "weight_map": {"a": "s"}})",
        R"({"metadata": null, "weight_map": {"a": "s"}})", R"({"weight_map": {"a": "s"}} x)"}) {
    INFO(json);
    CHECK(open(dir, json).code == errc::malformed);
  }
  const std::string deep = R"({"metadata": {"x": )" + std::string(100000, '[');
  CHECK(open(dir, deep).text.find("nesting") != std::string::npos);
}

TEST_CASE("the time to open an index grows as its tensors, read or not") {
  const TempDir dir;
  const std::size_t count = 60000;
  std::string header = "{", map;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "\"layer" + std::to_string(i) + "\"";
    header += (i == 0 ? "" : ",") + name + R"(:{"dtype":"XX","shape":[0],"data_offsets":[0,0]})";
    map += (i == 0 ? "" : ",") + name + R"(:"1.safetensors")";
  }
  header += "}";
  std::string size(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) size[i] = static_cast<char>(header.size() >> (8 * i) & 255);
  spill(dir / "1.safetensors", size + header);
  spill(dir / "m.index.json", "{\"weight_map\":{" + map + "}}");
  const auto begin = std::chrono::steady_clock::now();
  const SafetensorsIndexReader reader = SafetensorsIndexReader::open(dir / "m.index.json");
  CHECK(reader.tensors().empty());
  CHECK(reader.others().size() == count);
  for (std::size_t i = 0; i < count; i += 2000) {
    const Outcome other = outcome([&] { return reader.shard_of("layer" + std::to_string(i)); });
    CHECK(other.code == errc::unsupported);
  }
  CHECK(outcome([&] { return reader.shard_of("layer"); }).code == errc::unknown_name);
  // Seconds in the slowest build; a scan of all members for each takes minutes.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}
