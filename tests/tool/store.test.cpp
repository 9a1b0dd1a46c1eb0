// SPDX-License-Identifier: MIT
// Files of tq::save and files of the tool are the same.
#include <tq/calibrate/calibrate.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/store/save.hpp>
#include <tq/store/stored_model.hpp>

#include "tool_test.hpp"

using namespace tool_test;

namespace {

// Reads a file of the tool into memory and saves it again.
void save_again(const std::string& from, const std::string& to) {
  auto model = tq::open(from);
  auto file = tq::io::open_tensor_file(from);
  std::vector<tq::SavedTensor> saved;
  for (const tq::StoredTensor& t : model.tensors())
    if (t.spec() != nullptr) saved.emplace_back(t.name, model.load(t.name), t.dtype);
    else saved.emplace_back(t.name, file.read(t.name));
  tq::save(to, saved, model.other_metadata());
}

}  // namespace

TEST_CASE("the library reads the tool's files and writes them again, byte for byte") {
  const Folder folder("store");
  const std::string in = folder("in.safetensors"), out = folder("out.safetensors"),
                    again = folder("again.safetensors");
  tq::io::write_safetensors(
      in,
      std::vector<Tensor>{tensor("a", {7, 64}), tensor("b", {3, 5, 32}, DType::bf16),
                          tensor("c", {1, 1}), tensor("d", {0, 32}), tensor("e", {33}, DType::f64)},
      {{"format", "pt"}});
  for (const tq::NamedScheme& scheme : tq::named_schemes()) {
    INFO(scheme.name);
    succeed({"quantize", in, out, "--type", scheme.name});
    save_again(out, again);
    CHECK((content(again) == content(out)));
  }
  for (const std::string option : {"--symmetry=float_offset", "--granularity=per_token",
                                   "--granularity=per_block", "--scale-type=bfloat16"}) {
    INFO(option);
    succeed({"quantize", in, out, "--type", "uint5", "--exclude", "d", option});
    save_again(out, again);
    CHECK((content(again) == content(out)));
  }
  succeed({"dequantize", again, folder("back.safetensors")});
  CHECK(read_all(folder("back.safetensors")).size() == 5);
}

TEST_CASE("the library and the tool write the same file of the same tensors") {
  using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  const Folder folder("store_same");
  const std::string in = folder("in.safetensors"), out = folder("out.safetensors"),
                    own = folder("own.safetensors");
  const std::vector<float> x = noise(7 * 64), bias = noise(7, 2);
  const tq::ConstTensorView view(x.data(), {7, 64});
  tq::io::write_safetensors(in, std::vector<Tensor>{tq::io::from_float32("w", {7, 64}, x),
                                                    tensor("b", {7}, DType::f32, 2)});
  succeed({"quantize", in, out, "--type", "int4_g32"});
  const auto q = tq::quantize(view, tq::calibrate<W4>(view));
  tq::save(own, {{"w", q}, {"b", bias}});
  CHECK((content(own) == content(out)));
  CHECK(tq::load<W4>(out, "w") == q);
  const Json told = Json::parse(succeed({"inspect", own, "--json"}));
  CHECK(told["tensors"][0]["name"] == "w");
  CHECK(told["tensors"][0]["spec"]["type"] == "int4");
}

TEST_CASE("a pool of small tensors is the tool's, byte for byte") {
  const Folder folder("store_pool");
  const std::string in = folder("in.safetensors"), out = folder("out.safetensors"),
                    again = folder("again.safetensors");
  std::vector<Tensor> tensors{tensor("tq.pool", {2}), tensor("w", {4, 64})};
  for (unsigned i = 0; i < 4100; ++i)
    tensors.push_back(
        tensor("n" + std::to_string(i), {1 + i % 3}, i % 2 ? DType::f32 : DType::f16, i));
  tq::io::write_safetensors(in, tensors);
  succeed({"quantize", in, out, "--type", "uint8", "--all", "--granularity", "per_tensor"});
  CHECK(tq::io::SafetensorsReader::open(out).tensors().size() < 20);
  save_again(out, again);
  CHECK((content(again) == content(out)));
}
