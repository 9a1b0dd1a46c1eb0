// SPDX-License-Identifier: MIT
// Models of several files: what is read, what is written, and what is refused.
#include "process.hpp"
#include "shards_test.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

using namespace tool_test;

namespace {

const std::string index_name = "model.safetensors.index.json";

}  // namespace

TEST_CASE("a sharded model becomes shards of the same names, which every command reads") {
  const Folder folder("sharded");
  const std::string in = folder("in"), out = folder("out");
  write_shards(in, some_shards(3));
  const std::string index = in + "/" + index_name;
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--type", "int8"},
        {"--type", "int4", "--group-size", "16", "--symmetry", "asymmetric", "--all"},
        {"--type", "nvfp4"},
        {"--type", "bfloat16"}}) {
    INFO(options[1]);
    const auto with = [&](std::vector<std::string> command) {
      command.insert(command.end(), options.begin(), options.end());
      return command;
    };
    fs::remove_all(out);
    const Json report = Json::parse(succeed(with({"quantize", in, out + "/", "--json"})));
    CHECK(report["shards"] == Json{{"all", 3}, {"finished_before", 0}});
    std::set<std::string> names;
    for (const auto& [name, bytes] : contents(out)) names.insert(name);
    CHECK(names ==
          std::set<std::string>{index_name, shard_name(0, 3), shard_name(1, 3), shard_name(2, 3)});
    // One file has the same values, and its report the same numbers.
    const std::string one = folder("one.safetensors");
    const Json alone = Json::parse(succeed(with({"quantize", index, one, "--json"})));
    CHECK(alone["tensors"] == report["tensors"]);
    CHECK(alone["total"] == report["total"]);
    succeed({"dequantize", one, folder("a.safetensors")});
    succeed({"dequantize", out, folder("b.safetensors")});
    CHECK(content(folder("a.safetensors")) == content(folder("b.safetensors")));
    // Every shard is a model of its own, and has the text pairs that it had.
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string shard = out + "/" + shard_name(i, 3);
      succeed({"dequantize", shard, folder("c.safetensors")});
      const Json first = Json::parse(
          succeed({"compare", "--json", folder("c.safetensors"), in + "/" + shard_name(i, 3)}));
      CHECK(first["tensors"].size() >= 3);
      CHECK(tq::io::SafetensorsReader::open(shard).metadata().at("of") == shard_name(i, 3));
    }
    const std::string out_index = out + "/" + index_name;
    const Json listed = Json::parse(succeed({"inspect", out_index, "--json"}));
    CHECK(listed["tensors"].size() == report["tensors"].size());
    const Json worst = Json::parse(succeed({"compare", "--json", in, out}))["total"];
    CHECK(worst == Json::parse(succeed({"compare", "--json", index, one}))["total"]);
    CHECK(has(fail(1, {"quantize", out, folder("again") + "/"}), "not quantized yet"));
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto shard = tq::io::SafetensorsReader::open(out + "/" + shard_name(i, 3));
      for (const auto& info : shard.tensors()) size += info.size_bytes;
    }
    CHECK(Json::parse(content(out_index))["metadata"]["total_size"] == size);
  }
}

TEST_CASE("a folder, a name with a slash and an index are the same output") {
  const Folder folder("outputs");
  const std::string in = folder("in");
  write_shards(in, some_shards(2));
  fs::create_directory(folder("there"));
  succeed({"quantize", in, folder("there")});
  succeed({"quantize", in, folder("a/b/")});
  succeed({"quantize", in + "/" + index_name, folder("c.index.json")});
  const auto there = contents(folder("there"));
  CHECK(contents(folder("a/b")) == there);
  CHECK(content(folder("c.index.json")) == there.at(index_name));
  CHECK(content(folder(shard_name(1, 2))) == there.at(shard_name(1, 2)));
  // One file remains one, with the bytes that it has under a name of its own.
  const std::string one = in + "/" + shard_name(0, 2);
  succeed({"quantize", one, folder("d/")});
  succeed({"quantize", one, folder("e.safetensors")});
  CHECK(contents(folder("d")) ==
        std::map<std::string, std::string>{{shard_name(0, 2), content(folder("e.safetensors"))}});
  succeed({"quantize", golden("npy/good/le_f4.npy"), folder("f/n.index.json"), "--all"});
  CHECK(contents(folder("f")).size() == 2);
  succeed({"dequantize", folder("f/n.index.json"), folder("n.npy")});
}

TEST_CASE("the number of jobs does not show in the output") {
  const Folder folder("jobs");
  const std::string in = folder("in");
  std::vector<std::vector<Tensor>> kept = some_shards(5, 200);
  write_shards(in, kept);
  for (const std::string type : {"int8", "mxfp4"}) {
    std::map<std::string, std::string> expected;
    std::string one, report;
    for (const std::string jobs : {"1", "2", "4", "100"}) {
      INFO(type << " " << jobs);
      const std::string out = folder(type + jobs) + "/",
                        file = folder(type + jobs + ".safetensors");
      const std::string said = succeed({"quantize", in, out, "--type", type, "--jobs", jobs});
      succeed({"quantize", in, file, "--type", type, "--jobs", jobs});
      if (jobs == "1") {
        expected = contents(out);
        one = content(file);
        report = said;
      }
      CHECK(contents(out) == expected);
      CHECK(content(file) == one);
      CHECK(said == report);
    }
  }
  for (const char* jobs : {"0", "-1", "many", "100000"})
    CHECK(has(fail(2, {"quantize", in, folder("x/"), "--jobs", jobs}), "--jobs"));
  // The first tensor that fails is named, by any number.
  std::vector<float> x = noise(200 * 64);
  x[5] = std::numeric_limits<float>::infinity();
  kept[1].push_back(tq::io::from_float32("bad.1", {200, 64}, x));
  kept[2].push_back(tq::io::from_float32("bad.2", {200, 64}, x));
  write_shards(in, kept);
  for (const char* jobs : {"1", "4"}) {
    CHECK(has(fail(1, {"quantize", in, folder("y.safetensors"), "--jobs", jobs}), "\"bad.1\""));
    CHECK_FALSE(fs::exists(folder("y.safetensors")));
  }
}

TEST_CASE("tensors of a few bytes share a tensor of their shard") {
  const Folder folder("pools");
  std::vector<std::vector<Tensor>> shards(2);
  for (std::size_t s = 0; s < 2; ++s)
    for (std::size_t i = 0; i < 4200; ++i)
      shards[s].push_back(tensor(std::to_string(s) + "." + std::to_string(i), {1, 2}, DType::f32,
                                 static_cast<unsigned>(i)));
  write_shards(folder("in"), shards);
  succeed({"quantize", folder("in"), folder("out/"), "--jobs", "3"});
  succeed({"quantize", folder("in"), folder("one.safetensors")});
  const Json map = Json::parse(content(folder("out/" + index_name)))["weight_map"];
  CHECK(map == Json{{"tq.pool.1", shard_name(0, 2)}, {"tq.pool.2", shard_name(1, 2)}});
  succeed({"dequantize", folder("out"), folder("a.safetensors")});
  succeed({"dequantize", folder("one.safetensors"), folder("b.safetensors")});
  CHECK(content(folder("a.safetensors")) == content(folder("b.safetensors")));
  succeed({"dequantize", folder("out"), folder("back/"), "--jobs", "2"});
  const Json back = Json::parse(content(folder("back/" + index_name)))["weight_map"];
  CHECK(back == Json::parse(content(folder("in/" + index_name)))["weight_map"]);
}

TEST_CASE("a weight of another program whose parts are in several shards comes to the first") {
  const Folder folder("foreign");
  const Tensor weight = tensor("l.weight", {200, 300}, DType::f8_e4m3);
  const std::vector<float> scales{0.5f, 1, 2, 0.25f, 3, 0.125f};
  const Tensor scale = tq::io::from_float32("l.weight_scale_inv", {2, 3}, scales);
  write_shards(folder("in"), {{weight}, {scale}, {tensor("other", {8, 8})}});
  succeed({"quantize", folder("in"), folder("out/")});
  const Json map = Json::parse(content(folder("out/" + index_name)))["weight_map"];
  CHECK(map["l.weight"] == shard_name(0, 2));
  CHECK(map["l.weight_scale_inv"] == shard_name(0, 2));
  CHECK(fs::exists(folder("out/" + shard_name(1, 2))));
  CHECK_FALSE(fs::exists(folder("out/" + shard_name(0, 3))));
  succeed({"quantize", folder("in"), folder("one.safetensors")});
  for (const std::string more : {"", "--requantize"}) {
    if (!more.empty()) {
      succeed({"quantize", folder("in"), folder("out/"), more, "--overwrite"});
      succeed({"quantize", folder("in"), folder("one.safetensors"), more});
    }
    succeed({"dequantize", folder("out"), folder("a.safetensors")});
    succeed({"dequantize", folder("one.safetensors"), folder("b.safetensors")});
    CHECK(content(folder("a.safetensors")) == content(folder("b.safetensors")));
  }
}

TEST_CASE("dequantize writes the shards that there were, whatever the number of jobs") {
  const Folder folder("dequantize_shards");
  const std::string in = folder("in"), small = folder("small/"), single = folder("q.safetensors");
  write_shards(in, some_shards(4, 200));
  for (const std::string type : {"int8", "nvfp4"}) {
    fs::remove_all(small);
    succeed({"quantize", in, small, "--type", type});
    succeed({"quantize", in, single, "--type", type});
    succeed({"dequantize", single, folder("one.safetensors")});
    std::map<std::string, std::string> expected;
    for (const std::string jobs : {"1", "2", "4"}) {
      INFO(type << ", " << jobs << " jobs");
      const std::string out = folder("back" + jobs) + "/";
      fs::remove_all(out);
      const Json report =
          Json::parse(succeed({"dequantize", small, out, "--jobs", jobs, "--json"}));
      CHECK(report["shards"] == Json{{"all", 4}, {"finished_before", 0}});
      if (expected.empty()) expected = contents(out);
      CHECK(contents(out) == expected);
      succeed({"dequantize", small, folder("two.safetensors"), "--jobs", jobs});
      CHECK(content(folder("two.safetensors")) == content(folder("one.safetensors")));
    }
    // Each tensor has the bytes that it has in one file, and is in the shard it was in.
    std::map<std::string, Tensor> alone;
    for (Tensor& t : read_all(folder("one.safetensors"))) alone.emplace(t.name, t);
    const Json index = Json::parse(expected.at(index_name));
    CHECK(index["weight_map"] == Json::parse(content(in + "/" + index_name))["weight_map"]);
    CHECK(index["weight_map"].size() == alone.size());
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string shard = folder("back1/" + shard_name(i, 4));
      CHECK(tq::io::SafetensorsReader::open(shard).metadata() ==
            tq::io::SafetensorsReader::open(in + "/" + shard_name(i, 4)).metadata());
      for (const Tensor& t : read_all(shard)) {
        INFO(t.name);
        CHECK(index["weight_map"][t.name] == shard_name(i, 4));
        CHECK(t.bytes == alone.at(t.name).bytes);
        CHECK(t.dtype == alone.at(t.name).dtype);
        CHECK(t.shape == alone.at(t.name).shape);
        size += t.bytes.size();
      }
    }
    CHECK(index["metadata"]["total_size"] == size);
    CHECK(has(fail(1, {"dequantize", small, folder("back1")}), "--overwrite replaces it"));
    CHECK(contents(folder("back1")) == expected);
    succeed({"dequantize", small + index_name, folder("back1"), "--overwrite"});
    CHECK(contents(folder("back1")) == expected);
    CHECK(has(fail(2, {"dequantize", small, small}), "another folder than that of IN"));
  }
  CHECK(has(fail(2, {"dequantize", small, folder("x/"), "--jobs", "0"}), "--jobs"));
}

TEST_CASE("a shard of nothing but a tensor of an unknown dtype is kept") {
  const Folder folder("raw_shard");
  write_shards(folder("in"), {{tensor("w", {8, 8})}, {}});
  const std::vector<tq::io::TensorDecl> raw{{"a", DType::u8, {}, {{"U1", {4}, 4}}}};
  const std::vector<std::byte> bytes(4, std::byte{7});
  tq::io::SafetensorsWriter writer(folder("in/" + shard_name(1, 2)), raw);
  writer.append("a", bytes);
  writer.finish();
  write_index(folder("in/" + index_name), {{"w", shard_name(0, 2)}, {"a", shard_name(1, 2)}});
  succeed({"quantize", folder("in"), folder("small/")});
  succeed({"dequantize", folder("small"), folder("back/")});
  for (const std::string out : {"small/", "back/"})
    CHECK(Json::parse(content(folder(out + index_name)))["weight_map"]["a"] == shard_name(1, 2));
  CHECK(content(folder("back/" + shard_name(1, 2))) == content(folder("in/" + shard_name(1, 2))));
}

TEST_CASE("bad shards and places are refused, and nothing is left") {
  const Folder folder("bad_shards");
  const std::string in = folder("in"), index = in + "/" + index_name;
  write_shards(in, some_shards(3));
  const auto refused = [&](int status, const std::string& from, const std::string& out) {
    const std::string text = fail(status, {"quantize", from, out, "--jobs", "2"});
    CHECK_FALSE(fs::exists(folder("out")));
    return text;
  };
  const auto before = contents(in);
  CHECK(has(refused(2, in, in), "another folder than that of IN"));
  CHECK(has(refused(2, in, in + "/other.index.json"), "another folder than that of IN"));
  CHECK(contents(in) == before);
  CHECK(has(refused(2, in, folder("out.bin")),
            "expected a name ending in .safetensors or .index.json, or a folder"));
  CHECK(has(refused(1, folder("no_such") + "/", folder("out/")), "no_such"));
  CHECK(has(refused(1, in, index + "/out/"), "Not a directory"));
  const std::string kept = content(index);
  Json changed = Json::parse(kept);
  changed["weight_map"]["ghost"] = shard_name(1, 3);
  std::ofstream(index) << changed.dump();
  CHECK(has(refused(1, in, folder("out/")), "\"ghost\""));
  std::ofstream(index) << kept;
  fs::rename(in + "/" + shard_name(2, 3), folder("gone"));
  CHECK(has(refused(1, in, folder("out/")), shard_name(2, 3)));
  // A folder without an index has several models, or none.
  fs::remove(index);
  CHECK(has(refused(1, in, folder("out/")), "got 2 files ending in .safetensors"));
  fs::create_directory(folder("empty"));
  CHECK(has(refused(1, folder("empty"), folder("out/")), "got 0 files ending in .safetensors"));
  // The first shard fails; with two jobs, the other job could finish the second shard, which would
  // be kept.
  std::vector<float> x = noise(64);
  x[7] = std::nanf("");
  write_shards(in, {{tq::io::from_float32("w", {4, 16}, x)}, {tensor("v", {4, 16})}});
  CHECK(has(fail(1, {"quantize", in, folder("out/")}), "tensor \"w\""));
  CHECK_FALSE(fs::exists(folder("out")));
}

TEST_CASE("metadata that speaks of tensors of another shard is refused") {
  const Folder folder("crossed");
  write_shards(folder("in"), {{tensor("a", {8, 8})}, {tensor("b", {8, 8})}});
  succeed({"quantize", folder("in"), folder("out/")});
  const std::string shard = folder("out/" + shard_name(0, 2));
  const auto tensors = read_all(shard);
  const auto other = tq::io::SafetensorsReader::open(folder("out/" + shard_name(1, 2))).metadata();
  tq::io::write_safetensors(shard, tensors, other);
  const std::string text = fail(1, {"inspect", folder("out")});
  CHECK(has(text, shard_name(0, 2)));
  CHECK(has(text, "tensor \"b\""));
}

TEST_CASE("memory does not grow with the model or the number of jobs") {
  const Folder folder("shard_memory");
  constexpr std::size_t mebi = std::size_t{1} << 20, shards = 3, tensors = 8;
  fs::create_directory(folder("in"));
  std::vector<std::pair<std::string, std::string>> places;
  for (std::size_t i = 0; i < shards; ++i) {  // 96 MiB, of 4 MiB each
    const std::string name = shard_name(i, shards), layer = "layer." + std::to_string(i) + ".";
    write_zeros(folder("in/" + name), tensors, {1024, 1024}, layer);
    for (std::size_t k = 0; k < tensors; ++k) places.emplace_back(layer + std::to_string(k), name);
  }
  write_index(folder("in/" + index_name), places);
  for (const std::string jobs : {"1", "16"}) {  // a quarter is quantized, the rest copied
    Process process({"quantize", folder("in"), folder("out" + jobs + "/"), "--type", "int4",
                     "--group-size", "32", "--include", "[.][01]$", "--jobs", jobs});
    CHECK(process.wait() == 0);
    CHECK(process.peak_bytes() > 4 * mebi);
    CHECK(process.peak_bytes() < (4 + 64) * mebi);
  }
  CHECK(contents(folder("out1")) == contents(folder("out16")));
  for (const std::string jobs : {"1", "16"}) {
    Process process({"dequantize", folder("out1"), folder("back" + jobs + "/"), "--jobs", jobs});
    CHECK(process.wait() == 0);
    CHECK(process.peak_bytes() > 4 * mebi);
    CHECK(process.peak_bytes() < (4 + 64) * mebi);
  }
  CHECK(contents(folder("back1")) == contents(folder("back16")));
  for (const char* name : {"in", "out1", "out16", "back1", "back16"}) fs::remove_all(folder(name));
}
