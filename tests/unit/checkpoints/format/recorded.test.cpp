// SPDX-License-Identifier: MIT
// The bytes of weights that libraries of engines made of the same floats
// (tests/golden/checkpoints).
#include <tq/checkpoints/format/awq.hpp>
#include <tq/checkpoints/format/bitsandbytes.hpp>
#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/checkpoints/format/gptq.hpp>
#include <tq/containers/safetensors.hpp>

#include <map>

#include "support/directories.hpp"
#include "written_test.hpp"

namespace {

using namespace written_test;
using tq::format::bitsandbytes;
using tq::format::compressed_tensors;

// The tensors of a recorded file by their names.
std::map<std::string, Tensor> recorded_tensors(const std::string& file) {
  std::map<std::string, Tensor> out;
  const auto in =
      tq::io::SafetensorsReader::open(std::string(test::golden_dir) + "/checkpoints/" + file);
  for (const tq::io::TensorInfo& t : in.tensors()) out.emplace(t.name, in.read(t.name));
  return out;
}

struct Recorded {
  std::map<std::string, Tensor> tensors;
  std::vector<float> x;

  Recorded() : tensors(recorded_tensors("libraries.safetensors")) {
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
      // In FP4 bitsandbytes takes the other code of 0, and the other of two codes at one distance.
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

TEST_CASE("weights of GPTQ and AWQ are saved as their packers wrote them",
          "[checkpoints][format]") {
  const std::map<std::string, Tensor> tensors = recorded_tensors("gptq_awq.safetensors");
  const auto check = [&](const auto& format, const std::string& name) {
    INFO(name);
    File file;
    for (const auto& [key, t] : tensors)
      if (key.starts_with(name + ".") && !key.ends_with(".values")) file.add(t);
    const Tensor& values = tensors.at(name + ".values");
    const bool is_transposed = name == "awq";
    const std::size_t n = values.shape[is_transposed ? 1 : 0],
                      k = values.shape[is_transposed ? 0 : 1];
    check_saved(format, {name, n, k, DType::f16}, file);
    const std::vector<float> expected = tq::io::to_float32(values), got = file.values();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < k; ++j)
        REQUIRE(got.at(i * k + j) == expected.at(is_transposed ? j * n + i : i * k + j));
  };
  using tq::format::gptq;
  check(gptq{2, 32, false}, "gptq_2bit");
  check(gptq{3, 32, false}, "gptq_3bit");
  check(gptq{4, 32, false}, "gptq_4bit");
  check(gptq{8, 16, false}, "gptq_8bit");
  check(tq::format::awq{32}, "awq");
}
