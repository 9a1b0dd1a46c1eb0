// SPDX-License-Identifier: MIT
// Models in GGUF files.
#include <tq/containers/gguf.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/layouts/gguf/params_of.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/scheme/encoded_blocks.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/store/convert_model.hpp>
#include <tq/store/convert_model.ipp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/dequantize_model.hpp>
#include <tq/store/dequantize_model.ipp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_model.ipp>

#include <string>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/files/io_test.hpp"

using namespace tq;
using namespace io_test;

namespace {

using Small = BasicStoredModel<TypeList<int4, int8>, TypeList<float>>;

using HeldTypes = TypeList<uint2, uint3, uint4, uint5, uint6, uint8, int8, float4_e2m1fn, binary>;
using HeldScales = TypeList<float, float16, float8_e8m0fnu, TwoLevel<float8_e4m3fn>>;
using Held = BasicStoredModel<HeldTypes, HeldScales>;

const fs::path folder = golden / "conformance/gguf";

}  // namespace

TEST_CASE("blocks of a GGUF file are quantized tensors of a model") {
  const fs::path path = folder / "files/all_quant.gguf";
  const auto reader = io::GgufReader::open(path);
  Small model(path);
  REQUIRE(model.tensors().size() == reader.tensors().size());
  for (const io::GgufTensor& stored : reader.tensors()) {
    const StoredTensor& tensor = model.tensor(stored.name);
    INFO(stored.name);
    CHECK(tensor.blocks == layouts::gguf::info_of(stored.type).name);
    CHECK(tensor.bytes == stored.size_bytes);
    CHECK(tensor.plain_bytes() == 3 * 256 * 4);
    CHECK(tensor.scheme() == "gguf " + tensor.blocks);
    CHECK(store::no_weight(tensor, false) == "quantized: " + tensor.scheme());
    CHECK(store::no_weight(tensor, true).empty());
  }
}

TEST_CASE("blocks are loaded as encoded tensors, and as tensors of the type that holds them") {
  const fs::path path = folder / "files/all_quant.gguf";
  Held model(path);
  for (const StoredTensor& tensor : model.tensors()) {
    INFO(tensor.name << ": " << tensor.blocks);
    const auto spec = block_spec(layouts::gguf::find_type(tensor.blocks)->type);
    if (!spec) continue;
    const EncodedTensor loaded = model.load(tensor.name);
    CHECK(loaded.spec == *spec);
    CHECK(decode<HeldTypes, HeldScales>(loaded) == model.load<float>(tensor.name));
    using Params = layouts::gguf::params_of<layouts::gguf::Q4_K>;
    if (tensor.blocks == "q4_K")
      CHECK(dequantize(model.load<Params>(tensor.name)) == model.load<float>(tensor.name));
    using Floats = layouts::gguf::float_params_of<layouts::gguf::Q4_K>;
    if (tensor.blocks == "q4_K")
      CHECK(dequantize(model.load<Floats>(tensor.name)) == model.load<float>(tensor.name));
    if (tensor.blocks == "q4_0")
      test::raises(errc::bad_argument, {"expected uint4", "float_offset", "got gguf q4_0"},
                   [&] { (void)model.load<Params>(tensor.name); });
  }
}

TEST_CASE("blocks are quantized anew on request only, and nothing is written otherwise") {
  const TempDir dir;
  const fs::path path = folder / "files/all_quant.gguf";
  const QuantSpec spec{.type = "int8"};
  ConvertOptions options;
  CHECK(test::refused(errc::bad_argument, [&] {
          (void)convert_model<Small>(path, dir / "m.safetensors", spec, options);
        }).find("expected a model that is not quantized yet, got gguf") != std::string::npos);
  CHECK(!fs::exists(dir / "m.safetensors"));
  options.requantize = true;
  const ConversionReport report = convert_model<Small>(path, dir / "m.safetensors", spec, options);
  CHECK(report.totals().quantized > 0);
}

TEST_CASE("a model in a GGUF file is turned into its values") {
  const TempDir dir;
  const ConversionReport report =
      dequantize_model<Small>(folder / "files/all_quant.gguf", dir / "m.safetensors");
  CHECK(report.totals().decoded == 18);
  CHECK(report.totals().bytes_after == 18 * 3 * 256 * 4);
  const auto written = io::SafetensorsReader::open(dir / "m.safetensors");
  REQUIRE(written.tensors().size() == 18);
  for (const io::TensorInfo& info : written.tensors()) {
    INFO(info.name);
    const io::Tensor expected =
        io::read_npy(folder / "files_expected/all_quant" / (info.name + ".npy"));
    const io::Tensor got = written.read(info.name);
    CHECK(got.dtype == io::DType::f32);
    CHECK(got.shape == expected.shape);
    CHECK(io::to_float32(got) == io::to_float32(expected));
  }
  // A file without blocks is copied.
  const ConversionReport copied =
      dequantize_model<Small>(folder / "files/all_kv.gguf", dir / "n.safetensors");
  CHECK(copied.totals().decoded == 0);
  const auto same = io::SafetensorsReader::open(dir / "n.safetensors");
  CHECK(same.tensors().size() == 10);
  const io::GgufReader kept = io::GgufReader::open(folder / "files/all_kv.gguf");
  for (const io::TensorInfo& info : same.tensors()) {
    INFO(info.name);
    CHECK(same.read(info.name).bytes == kept.read(info.name).bytes);
  }
}
