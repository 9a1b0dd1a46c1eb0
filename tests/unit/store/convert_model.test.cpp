// SPDX-License-Identifier: MIT
// A model is converted as a whole or not at all, and turned back to the values of its codes.
#include <tq/store/convert_model.hpp>
#include <tq/store/dequantize_model.hpp>

#include <tq/containers/npy.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/json/json.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/store/convert_model.ipp>
#include <tq/store/dequantize_model.ipp>
#include <tq/store/stored_model.ipp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "store_test.hpp"
#include "support/catch.hpp"
#include "support/error_check.hpp"

using namespace store_test;
using namespace tq;
using io_test::slurp;
using io_test::spill;
using io_test::TempDir;
namespace fs = std::filesystem;

namespace {

using Small = BasicStoredModel<TypeList<int4, int8>, TypeList<float>>;

const QuantSpec by_groups = spec_of<W4>();

SavedTensor plain(const std::string& name, const Shape& shape, unsigned seed) {
  const std::vector<float> x = noise(shape.size(), seed);
  return {name, ConstTensorView(x.data(), shape)};
}

// A model of one file: a matrix and a vector.
void write_model(const fs::path& path, unsigned seed = 1) {
  save(path, {plain("fc1.weight", {6, 64}, seed), plain("fc1.bias", {6}, seed + 1)});
}

// A model of three files with an index.
void write_shards(const fs::path& folder) {
  fs::create_directories(folder);
  io::Json map = io::Json::object();
  for (unsigned i = 1; i <= 3; ++i) {
    const std::string file = "model-" + std::to_string(i) + ".safetensors";
    const std::string name = "layers." + std::to_string(i) + ".fc.weight";
    save(folder / file, {plain(name, {6, 64}, 10 + i)});
    map[name] = file;
  }
  spill(folder / "model.safetensors.index.json",
        io::Json{{"metadata", {{"total_size", 3 * 6 * 64 * 4}}}, {"weight_map", map}}.dump());
  spill(folder / "config.json", "{}");
}

// The bytes of all files of a folder.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder).string()] = slurp(entry.path());
  return files;
}

ConvertOptions overwriting() {
  ConvertOptions options;
  options.overwrite = true;
  return options;
}

}  // namespace

TEST_CASE("a model is quantized as its tensors are, and turned back to their values") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors", out = folder / "out.safetensors",
                 back = folder / "back.safetensors";
  write_model(in);
  const ConversionReport report = convert_model<Small>(in, out, by_groups);
  const std::vector<float> x = noise(6 * 64, 1);
  const ConstTensorView view(x.data(), Shape{6, 64});
  const auto expected = quantize(view, calibrate<W4>(view));
  CHECK(load<W4>(out, "fc1.weight") == expected);
  CHECK(floats(out, "fc1.bias") == noise(6, 2));

  CHECK(report.file == out);
  CHECK(!report.reused_shards);
  REQUIRE(report.tensors.size() == 2);
  const ConversionTotals totals = report.totals();
  CHECK(totals.quantized == 1);
  CHECK(totals.weights == 6 * 64);
  CHECK(totals.bytes_before == 4 * (6 * 64 + 6));
  CHECK(totals.bytes_after == 6 * 32 + 4 * 6 * 2 + 4 * 6);
  for (const ConvertedTensor& t : report.tensors) {
    const bool is_weight = t.source->name == "fc1.weight";
    CHECK(t.is_quantized() == is_weight);
    CHECK(t.copied == (is_weight ? "" : "1-D"));
    CHECK((t.metrics.count == x.size()) == is_weight);
  }

  const ConversionReport turned = dequantize_model<Small>(out, back);
  CHECK(turned.totals().decoded == 1);
  CHECK(Small(back).load<float>("fc1.weight") == dequantize(expected));
  CHECK(Small(back).load<float>("fc1.bias") == noise(6, 2));
  CHECK(!Small(back).is_quantized());
  test::raises(errc::bad_argument, {back.c_str(), "expected a model quantized by tq"},
               [&] { (void)dequantize_model<Small>(back, folder / "no.safetensors"); });
  test::raises(errc::bad_argument, {out.c_str(), "expected a model that is not quantized yet"},
               [&] { (void)convert_model<Small>(out, folder / "again.safetensors", by_groups); });
}

TEST_CASE("a model of one tensor is turned back to an array") {
  const TempDir folder;
  save(folder / "in.safetensors", {plain("w", {6, 64}, 1)});
  (void)convert_model<Small>(folder / "in.safetensors", folder / "q.safetensors", by_groups);
  (void)dequantize_model<Small>(folder / "q.safetensors", folder / "w.npy");
  CHECK(io::to_float32(io::read_npy(folder / "w.npy")) ==
        Small(folder / "q.safetensors").load<float>("w"));
}

TEST_CASE("a configuration has a scheme for each tensor") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors";
  save(in, {plain("a.weight", {6, 64}, 1), plain("b.weight", {6, 64}, 2)});
  const QuantConfig config =
      QuantConfig::of("int8").with_scheme(NodeSelector::name("b.weight"), by_groups);
  const ConversionReport report = convert_model<Small>(in, folder / "out.safetensors", config);
  const Small model(folder / "out.safetensors");
  CHECK(model.tensor("a.weight").spec()->type == "int8");
  CHECK(*model.tensor("b.weight").spec() == by_groups);
  spill(
      folder / "config_of_schemes.json",
      R"({"version": 1, "default": "int8", "nodes": [{"name": "b.weight", "scheme": "int4_g32"}]})");
  (void)convert_model<Small>(in, folder / "same.safetensors", folder / "config_of_schemes.json");
  CHECK(slurp(folder / "same.safetensors") == slurp(folder / "out.safetensors"));
  const QuantConfig other = config.with_scheme(NodeSelector::name("c.weight"), by_groups);
  test::raises(errc::bad_argument, {"config: nodes[1]", "c.weight"},
               [&] { (void)convert_model<Small>(in, folder / "no.safetensors", other); });
}

TEST_CASE("a run that an exception ended is continued by the same call") {
  const TempDir folder;
  const fs::path in = folder / "in", out = folder / "out", whole = folder / "whole";
  write_shards(in);
  const ConversionReport at_once = convert_model<Small>(in, whole, by_groups);
  CHECK(at_once.shards == 3);
  CHECK(at_once.reused_shards == 0);
  CHECK(at_once.files_not_copied == std::vector<std::string>{"config.json"});

  std::vector<std::uint64_t> told;
  ConvertOptions stops;
  stops.progress = [&](std::uint64_t done, std::uint64_t all) {
    told.push_back(done);
    CHECK(all == 3 * 6 * 64 * 4);
    if (done == all) throw std::runtime_error("enough");
  };
  test::raises(errc::io_failure, {"enough", "the same command goes on from there"},
               [&] { (void)convert_model<Small>(in, out, by_groups, stops); });
  CHECK(told.front() == 0);
  CHECK(told.size() == 4);
  CHECK(!fs::exists(out / "model.safetensors.index.json"));

  test::raises(errc::bad_argument, {"shards of an unfinished run with other options"},
               [&] { (void)convert_model<Small>(in, out, QuantSpec{.type = "int8"}); });
  const ConversionReport rest = convert_model<Small>(in, out, by_groups);
  CHECK(rest.reused_shards.value_or(0) >= 2);
  CHECK(contents(out) == contents(whole));
  for (std::size_t i = 0; i < rest.tensors.size(); ++i)
    CHECK(rest.tensors[i].metrics.mse == at_once.tensors[i].metrics.mse);
}

TEST_CASE("shards of another input are made anew, and the caller is told") {
  const TempDir folder;
  const fs::path in = folder / "in", out = folder / "out";
  write_shards(in);
  ConvertOptions stops;
  stops.progress = [&](std::uint64_t done, std::uint64_t all) {
    if (done == all) throw std::runtime_error("enough");
  };
  test::refused(errc::io_failure, [&] { (void)convert_model<Small>(in, out, by_groups, stops); });
  save(in / "model-1.safetensors", {plain("layers.1.fc.weight", {6, 64}, 77)});
  std::string changed;
  ConvertOptions listens;
  listens.on_restart = [&](const std::string& files) { changed = files; };
  CHECK(convert_model<Small>(in, out, by_groups, listens).reused_shards == 0);
  CHECK(test::has(changed, "model-1.safetensors"));
}

TEST_CASE("an output that is there is replaced if tq wrote it or the caller says so") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors", out = folder / "out.safetensors";
  write_model(in);
  spill(out, "of somebody else");
  test::raises(errc::bad_argument, {out.c_str(), "expected a free place for the output"},
               [&] { (void)convert_model<Small>(in, out, by_groups); });
  CHECK(slurp(out) == "of somebody else");
  (void)convert_model<Small>(in, out, by_groups, overwriting());
  const std::string first = slurp(out);
  write_model(in, 5);
  (void)convert_model<Small>(in, out, by_groups);  // a file of tq
  CHECK(slurp(out) != first);
  spill(folder / "back.safetensors", "of somebody else");
  test::raises(errc::bad_argument, {"back.safetensors", "expected a free place for the output"},
               [&] { (void)dequantize_model<Small>(out, folder / "back.safetensors"); });
  (void)dequantize_model<Small>(out, folder / "back.safetensors", overwriting());
  CHECK(Small(folder / "back.safetensors").find("fc1.weight") != nullptr);
}

TEST_CASE("names and patterns that make no sense are errors of options") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors", out = folder / "out.safetensors";
  write_model(in);
  CHECK_THROWS_AS(convert_model<Small>(in, folder / "out.onnx", by_groups), store::OptionError);
  CHECK_THROWS_AS(convert_model<Small>(in, in, by_groups), store::OptionError);
  CHECK_THROWS_AS(convert_model<Small>(in, in, by_groups, overwriting()), store::OptionError);
  ConvertOptions options;
  options.names.include = {"("};
  CHECK_THROWS_AS(convert_model<Small>(in, out, by_groups, options), store::OptionError);
  options.names.include = {"fc2"};
  test::raises(errc::bad_argument, {"\"fc2\" matches none of the 2 tensors"},
               [&] { (void)convert_model<Small>(in, out, by_groups, options); });
  options.names = {{}, {"fc1"}};
  CHECK(convert_model<Small>(in, out, by_groups, options).totals().quantized == 0);
  options.names = {};
  options.all = true;
  CHECK(convert_model<Small>(in, out, QuantSpec{.type = "int8"}, options).totals().quantized == 2);
}

TEST_CASE("the bytes of an output do not depend on the number of threads") {
  const TempDir folder;
  write_shards(folder / "in");
  ConvertOptions options;
  (void)convert_model<Small>(folder / "in", folder / "one", by_groups, options);
  options.jobs = 3;
  (void)convert_model<Small>(folder / "in", folder / "three", by_groups, options);
  CHECK(contents(folder / "one") == contents(folder / "three"));
}
