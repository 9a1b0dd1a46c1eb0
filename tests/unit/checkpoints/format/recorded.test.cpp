// SPDX-License-Identifier: MIT
// The bytes of weights that libraries of engines made of the same floats
// (tests/golden/checkpoints).
#include <tq/checkpoints/format/bitsandbytes.hpp>
#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/containers/safetensors.hpp>

#include <map>

#include "support/directories.hpp"
#include "written_test.hpp"

namespace {

using namespace written_test;
using tq::format::bitsandbytes;
using tq::format::compressed_tensors;

struct Recorded {
  std::map<std::string, Tensor> tensors;
  std::vector<float> x;

  Recorded() {
    const auto file = tq::io::SafetensorsReader::open(std::string(test::golden_dir) +
                                                      "/checkpoints/libraries.safetensors");
    for (const tq::io::TensorInfo& t : file.tensors()) tensors.emplace(t.name, file.read(t.name));
    x = tq::io::to_float32(tensors.at("x"));
  }

  // Checks that the format makes the recorded bytes of the floats, and of the recorded codes.
  template <class Format>
  void check(const Format& format, const std::string& name) const {
    INFO(name);
    const LinearWeight layer{name, 32, 256, DType::bf16};
    File file;
    for (const auto& [key, t] : tensors)
      if (key.starts_with(name + ".")) file.add(t);
    const std::vector<Tensor> made = format.quantize(layer, {x.data(), {32, 256}});
    REQUIRE(made.size() == file.tensors.size());
    for (const Tensor& t : made) {
      INFO(t.name);
      const Tensor& expected = file.tensors.at(t.name);
      CHECK(t.dtype == expected.dtype);
      CHECK(t.shape == expected.shape);
      // Of two codes for 0, and of two that are as near, bitsandbytes takes others in FP4.
      if (t.name != "fp4.weight") CHECK((t.bytes == expected.bytes));
    }
    check_saved(format, layer, file);
  }
};

}  // namespace

TEST_CASE("weights have the bytes that compressed-tensors and bitsandbytes make",
          "[checkpoints][format]") {
  const Recorded recorded;
  recorded.check(compressed_tensors{"int4", 64}, "int4");
  recorded.check(compressed_tensors{"int4", 0}, "int4-channel");
  recorded.check(compressed_tensors{"int8", 64}, "int8");
  for (const char* scheme : {"w8a8", "fp8", "fp8-block", "nvfp4", "mxfp4", "mxfp8"})
    recorded.check(compressed_tensors{scheme}, scheme);
  recorded.check(bitsandbytes{"nf4"}, "nf4");
  recorded.check(bitsandbytes{"fp4"}, "fp4");
  recorded.check(bitsandbytes{"int8"}, "int8-rows");
}
