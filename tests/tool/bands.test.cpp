// SPDX-License-Identifier: MIT
// Tensors of more than a piece: rows whose parameters do not depend on the others are quantized
// one band after the other.
#include "tool_test.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace tool_test;

namespace {

// With 2048 * 7 elements a row, the first band has 64 rows, the last 6; a slice is less than a
// piece.
constexpr std::size_t rows = 70, row = 2048 * 7, slice = 2;

void write(const std::string& path, const std::vector<float>& x, std::size_t rows_of_one) {
  std::vector<Tensor> tensors;
  for (std::size_t r = 0; r < rows; r += rows_of_one)
    tensors.push_back(tq::io::from_float32("w" + std::to_string(1000 + r), {rows_of_one, row},
                                           std::span(x).subspan(r * row, rows_of_one * row),
                                           DType::bf16));
  tq::io::write_safetensors(path, tensors);
}

// The bytes of the parts of all tensors, in the order of their names, by the ending of the part.
std::map<std::string, std::vector<std::byte>> parts(const std::string& path) {
  std::vector<Tensor> tensors = read_all(path);
  std::sort(tensors.begin(), tensors.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  std::map<std::string, std::vector<std::byte>> out;
  for (const Tensor& t : tensors) {
    auto& bytes = out[t.name.substr(t.name.find('.'))];
    bytes.insert(bytes.end(), t.bytes.begin(), t.bytes.end());
  }
  return out;
}

std::vector<std::string> options_of(const std::string& text) {
  std::vector<std::string> options{"--type"};
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(' ', begin)) != text.npos; begin = end + 1)
    options.push_back(text.substr(begin, end - begin));
  options.push_back(text.substr(begin));
  return options;
}

}  // namespace

TEST_CASE("rows of a large tensor are quantized as they are alone") {
  const Folder folder("bands");
  const std::vector<float> x = noise(rows * row);
  write(folder("whole.safetensors"), x, rows);
  write(folder("slices.safetensors"), x, slice);
  for (const char* scheme :
       {"int8 --axis 0", "uint4 --group-size 100", "int4 --group-size 128 --symmetry float_offset",
        "int3 --granularity per_block --block-rows 2 --block-cols 128", "mxfp4",
        "nf4 --group-size 64"}) {
    INFO(scheme);
    for (const char* file : {"whole", "slices"}) {
      std::vector<std::string> command{"quantize", folder(file + std::string(".safetensors")),
                                       folder(file + std::string("_q.safetensors"))};
      const std::vector<std::string> options = options_of(scheme);
      command.insert(command.end(), options.begin(), options.end());
      succeed(command);
    }
    CHECK(parts(folder("whole_q.safetensors")) == parts(folder("slices_q.safetensors")));
  }
}

// sweep looks at tensors as a whole.
TEST_CASE("what is lost of a large tensor is what sweep measures, to the last bit") {
  const Folder folder("bands_lost");
  std::vector<float> x = noise(rows * row);
  x[5] = std::numeric_limits<float>::quiet_NaN();
  x[66 * row] = std::numeric_limits<float>::infinity();
  write(folder("m.safetensors"), x, rows);
  const std::string types = "int8,uint4_g32,nf4_double,nvfp4";
  const Json swept = Json::parse(
      succeed({"sweep", "--json", "--allow-nonfinite", folder("m.safetensors"), "--types", types}));
  CHECK(swept["schemes"].size() == 4);
  for (const Json& scheme : swept["schemes"]) {
    INFO(scheme["name"]);
    const Json report =
        Json::parse(succeed({"quantize", folder("m.safetensors"), folder("q.safetensors"), "--json",
                             "--allow-nonfinite", "--type", scheme["name"]}));
    const Json& lost = report["tensors"][0];
    CHECK(scheme["sqnr_db"] == lost["error"]["sqnr_db"]);
    CHECK(lost["nan"] == 1);
    CHECK(lost["infinite"] == 1);
  }
}

TEST_CASE("values that are not finite are counted in all of a large tensor") {
  const Folder folder("bands_nonfinite");
  std::vector<float> x = noise(rows * row);
  x[5] = x[65 * row] = std::numeric_limits<float>::quiet_NaN();
  x[66 * row] = std::numeric_limits<float>::infinity();
  write(folder("m.safetensors"), x, rows);
  const std::string said =
      fail(1, {"quantize", folder("m.safetensors"), folder("q.safetensors"), "--type", "int4_g32"});
  CHECK(has(said, "tensor \"w1000\""));
  CHECK(has(said, "2 NaN"));
  CHECK(has(said, "1 infinite among 1003520"));
  CHECK(folder.files() == std::set<std::string>{"m.safetensors"});
}
