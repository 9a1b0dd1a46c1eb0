// SPDX-License-Identifier: MIT
// Every reader recognizes files that have the name of a model and other content.
#include <tq/containers/npy.hpp>
#include <tq/containers/npz.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/containers/safetensors_index.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/files/file_content.hpp>
#include <tq/json/json_text.hpp>

#include "support/catch.hpp"
#include "support/directories.hpp"
#include "support/error_check.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using tq::io::foreign_content;

const std::vector<std::pair<std::string, std::string>> contents{
    {"", "an empty file"},
    {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4976698672\n",
     "a Git LFS pointer in place of the file of 4976698672 bytes; \"git lfs pull\""},
    {"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer in place of the file;"},
    {"<!DOCTYPE html><html></html>", "an HTML page"},
    {" \r\n<!doctype HTML>", "an HTML page"},
    {"\xef\xbb\xbf<html lang=\"en\">", "an HTML page"},
    {"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "an XML document"},
    {std::string(4096, '\0'), "zero bytes, as a download"},
    {std::string("\0\5\x16\7\0\2\0\0Mac OS X", 16), "an AppleDouble file"},
    {"GGUF\3", "a GGUF file"},
    {"\x1f\x8b\b", "a gzip archive"},
    {"\x80\2}q\0", "a Python pickle"}};

std::string written(const std::string& name, const std::string& text) {
  const std::filesystem::path folder = std::filesystem::path(test::output_dir) / "file_content";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << text;
  return (folder / name).string();
}

}  // namespace

TEST_CASE("content of other kinds is named by its first bytes", "[file_content]") {
  for (const auto& [text, meaning] : contents) {
    INFO(meaning);
    CHECK(
        foreign_content(text.substr(0, tq::io::content_sample), text.size()).starts_with(meaning));
  }
  CHECK(foreign_content("{\"a\": 1}", 8).empty());
  CHECK(foreign_content(std::string("\x10\0\0\0\0\0\0\0{}", 10), 10).empty());
  CHECK(foreign_content("\x93NUMPY\1", 7) == "a .npy file");
}

TEST_CASE("every reader of tensors names what a file is in its place", "[file_content]") {
  for (const char* name : {"m.safetensors", "m.npy", "m.npz", "m.safetensors.index.json"})
    for (const auto& [text, meaning] : contents) {
      INFO(name << ": " << meaning);
      const std::string path = written(name, text), &said = meaning;
      test::raises(tq::errc::malformed, {path.c_str(), said.c_str()},
                   [&] { (void)tq::io::open_tensor_file(path); });
    }
  // A short answer of a server, where there should be bytes.
  for (const char* name : {"m.safetensors", "m.npy", "m.npz"}) {
    const std::string path = written(name, "Entry not found");
    test::raises(tq::errc::malformed, {path.c_str(), "text that begins with \"Entry not found\""},
                 [&] { (void)tq::io::open_tensor_file(path); });
  }
  for (const auto& [text, meaning] : contents)
    test::raises(tq::errc::malformed, {"c.json: expected a JSON document, got ", meaning.c_str()},
                 [&, &text = text] { (void)tq::io::parse_json(text, "c.json"); });
}

TEST_CASE("files that end too early are told from others", "[file_content]") {
  const std::string header = R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
  std::string whole(8, '\0');
  whole[0] = static_cast<char>(header.size());
  whole += header + std::string(16, 'x');
  CHECK_NOTHROW(tq::io::open_tensor_file(written("w.safetensors", whole)));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    INFO(size);
    const std::string path = written("w.safetensors", whole.substr(0, size));
    const char* const said = size < 8 ? "expected" : "the file ends before: is it cut off?";
    test::raises(tq::errc::malformed, {path.c_str(), said},
                 [&] { (void)tq::io::open_tensor_file(path); });
  }
  test::raises(tq::errc::malformed, {"the end record of a zip archive", "is it cut off?"}, [] {
    (void)tq::io::open_tensor_file(written("w.npz", "PK\x03\x04" + std::string(40, 'x')));
  });
}

TEST_CASE("a path that is not there is missing, whatever its extension", "[file_content]") {
  for (const char* name : {"none", "none.bin", "none.safetensors", "none.npy"})
    test::raises(tq::errc::io_failure, {name, "No such file or directory"}, [&] {
      (void)tq::io::open_tensor_file(std::filesystem::path(test::output_dir) / name);
    });
}
