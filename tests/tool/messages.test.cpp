// SPDX-License-Identifier: MIT
// Messages on missing files, on files with other content than their names say, on hidden files, and
// on bounds: their text is true.
#include "tool_test.hpp"

#include <cmath>

using namespace tool_test;

namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

const std::string lfs_pointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 4976698672\n";

// The number behind a text.
double number_after(const std::string& text, const std::string& words) {
  INFO(text);
  const std::size_t at = text.find(words);
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + words.size()));
}

}  // namespace

TEST_CASE("hidden files of a folder are no part of a model or of data") {
  const Folder folder("hidden");
  const std::string side("\0\5\26\7\0\2\0\0Mac OS X        ", 24);
  for (const char* name : {"one", "many", "data", "nothing"}) fs::create_directories(folder(name));
  tq::io::write_safetensors(folder("one/model.safetensors"), std::vector{tensor("w", {4, 8})});
  tq::io::write_safetensors(folder("many/model-1.safetensors"), std::vector{tensor("w", {4, 8})});
  write(folder("many/model.safetensors.index.json"),
        R"({"weight_map": {"w": "model-1.safetensors"}})");
  tq::io::write_safetensors(folder("data/b.safetensors"), std::vector{tensor("w", {4, 8})});
  for (const char* name : {"one/._model.safetensors", "one/.DS_Store", "many/._model-1.safetensors",
                           "many/._model.safetensors.index.json", "data/._b.safetensors",
                           "data/.c.npy", "nothing/._model.safetensors"})
    write(folder(name), side);
  CHECK(has(succeed({"inspect", folder("one")}), "1 tensors"));
  CHECK(has(succeed({"inspect", folder("many")}), "1 tensors"));
  CHECK(has(succeed({"calibrate", folder("data"), "-o", folder("p.json")}), "1 tensors"));
  succeed({"quantize", folder("many"), folder("out/")});
  CHECK(has(fail(1, {"inspect", folder("nothing")}),
            "got 0 files ending in .safetensors (and 1 hidden file, whose names begin with"));
  CHECK(has(fail(1, {"calibrate", folder("nothing"), "-o", folder("p.json")}), "1 hidden file"));
  CHECK(has(fail(1, {"inspect", folder("nothing/._model.safetensors")}), "an AppleDouble file"));
}

TEST_CASE("a path that is not there is said to be missing, with a name that is close") {
  const Folder folder("missing");
  fs::create_directories(folder("llama-3-8b"));
  fs::create_directories(folder("out"));
  const std::string model = folder("llama-3-8b/model.safetensors");
  tq::io::write_safetensors(model, std::vector{tensor("w", {4, 8})});
  const std::string q = folder("q.safetensors");
  const auto meant = [&](std::vector<std::string> command, const std::string& right) {
    const std::string text = fail(1, command);
    CHECK(has(text, "No such file or directory"));
    CHECK(has(text, "; did you mean \"" + right + "\"?"));
    CHECK_FALSE(has(text, "extension"));
  };
  for (const char* wrong : {"lama-3-8b", "llama_3-8b", "Llama-3-8B", "llama-3-8b-"}) {
    INFO(wrong);
    meant({"inspect", folder(wrong)}, folder("llama-3-8b"));
    meant({"inspect", folder(wrong) + "/"}, folder("llama-3-8b"));
    meant({"quantize", folder(wrong), q}, folder("llama-3-8b"));
    meant({"inspect", folder(wrong) + "/model.safetensors"}, folder("llama-3-8b"));
  }
  meant({"inspect", folder("llama-3-8b/modle.safetensors")}, model);
  meant({"compare", model, folder("llama-3-8b/model.safetensor")}, model);
  meant({"calibrate", folder("llama-3-8b/mdel.safetensors"), "-o", folder("p.json")}, model);
  write(folder("config.json"), "{}");
  meant({"quantize", model, q, "--config", folder("confg.json")}, folder("config.json"));
  write(folder("state.json"), "{}");
  meant({"plot", folder("stat.json"), "-o", folder("p.html")}, folder("state.json"));
  meant({"merge-state", folder("state.jsn"), "-o", folder("o.json")}, folder("state.json"));
  CHECK(has(fail(1, {"inspect", folder("lama-3-8b/model.safetensors")}), "there is no folder"));
  CHECK_FALSE(has(fail(1, {"inspect", folder("zebra")}), "did you mean"));
}

TEST_CASE("files that are no models are named as what they are") {
  const Folder folder("contents");
  for (const char* name : {"m.safetensors", "m.npy", "m.npz", "m.safetensors.index.json"}) {
    INFO(name);
    const auto refused = [&](const std::string& text) {
      write(folder(name), text);
      const std::string said = fail(1, {"inspect", folder(name)});
      CHECK(has(said, folder(name)));
      return said;
    };
    CHECK(has(refused(lfs_pointer), "a Git LFS pointer in place of the file of 4976698672 bytes"));
    CHECK(has(refused("<!DOCTYPE html>\n<html><body>Sign in</body></html>"), "an HTML page"));
    CHECK(has(refused(""), "an empty file"));
    CHECK(has(refused(std::string(5000, '\0')), "zero bytes"));
  }
  tq::io::write_safetensors(folder("whole.safetensors"), std::vector{tensor("w", {64, 64})});
  const std::string whole = content(folder("whole.safetensors"));
  write(folder("cut.safetensors"), whole.substr(0, whole.size() / 2));
  CHECK(has(fail(1, {"inspect", folder("cut.safetensors")}), "is it cut off?"));
  for (const char* option : {"--config"}) {
    write(folder("c.json"), lfs_pointer);
    CHECK(has(fail(1, {"quantize", folder("whole.safetensors"), folder("q.safetensors"), option,
                       folder("c.json")}),
              "c.json: expected a JSON document, got a Git LFS pointer"));
  }
}

TEST_CASE("errors of JSON name file, line and column") {
  const Folder folder("json_lines");
  const std::string in = folder("m.safetensors"), config = folder("c.json");
  tq::io::write_safetensors(in, std::vector{tensor("w", {4, 8})});
  std::string text = "{\"version\": 1, \"default\": \"int8\", \"nodes\": [\n";
  for (int i = 0; i < 40; ++i) text += "  {\"name\": \"w\", \"scheme\": \"int4\"},\n";
  write(config, text + "]}\n");
  CHECK(has(fail(1, {"quantize", in, folder("q.safetensors"), "--config", config}),
            config +
                ": expected a JSON document, got \"]\" at line 42, column 1, after the comma at "
                "line 41, column 34"));
  const std::string index = folder("m.safetensors.index.json");
  write(index, "{\n\"weight_map\": {\n\"w\": \"m.safetensors\"\n\"v\": 1}}");
  CHECK(
      has(fail(1, {"inspect", index}), index + ": expected JSON, got \"\"\" at line 4, column 3"));
  write(folder("s.json"), "{\"version\": 1,\n \"tensors\": [}\n");
  CHECK(has(fail(1, {"plot", folder("s.json"), "-o", folder("p.html")}),
            "s.json: expected a JSON document, got \"}\" at line 2, column 14"));
}

TEST_CASE("bounds in refusals are such that the text is true, and what it asks for is accepted") {
  const Folder folder("bounds");
  const std::string in = folder("m.safetensors"), config = folder("c.json");
  const auto select = [&](double bits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", bits);
    return run({"select", in, "--types", "mxfp4", "--max-bits", text, "-o", config});
  };
  for (const std::size_t rows : {20u, 31u, 47u, 90u}) {
    tq::io::write_safetensors(in, std::vector{tensor("a", {rows, 73}), tensor("b", {31, 50})});
    const double least = number_after(select(0.5).err, "--max-bits: expected at least ");
    CHECK(select(least).status == 0);
    for (const double less : {least - 1e-4, std::nextafter(least - 5e-5, 0.0)}) {
      const Result r = select(less);
      if (r.status == 0) continue;  // the bound was rounded up by as much
      CHECK(number_after(r.err, "got ") < number_after(r.err, "at least "));
    }
  }
}

TEST_CASE("ranges that tables show contain all values") {
  const Folder folder("outward");
  for (unsigned seed = 1; seed < 30; ++seed) {
    std::vector<float> x = noise(64, seed);
    const auto [least, most] = std::minmax_element(x.begin(), x.end());
    tq::io::write_safetensors(folder("m.safetensors"),
                              std::vector{tq::io::from_float32("w", {4, 16}, x)});
    const std::string text = succeed({"inspect", folder("m.safetensors"), "--stats"});
    const std::string row = text.substr(text.find("\nw "));
    double bits = 0, bytes = 0, min = 0, max = 0;
    REQUIRE(std::sscanf(row.c_str(), "\nw F32 [4, 16] - %lf %lf %lf %lf", &bits, &bytes, &min,
                        &max) == 4);
    CHECK(min <= double{*least});
    CHECK(min > double{*least} - 1e-3);
    CHECK(max >= double{*most});
    CHECK(max < double{*most} + 1e-3);
  }
}
