// SPDX-License-Identifier: MIT
// Models are converted by algorithms that know activations.
#include <tq/ptq/encode_weights.hpp>
#include <tq/ptq/hessian_stack.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/store/convert_model.hpp>
#include <tq/store/convert_model.ipp>
#include <tq/store/hessian_file.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/stored_model.ipp>

#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "store_test.hpp"
#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/ptq/activations.hpp"

using namespace store_test;
using namespace tq;
using io_test::slurp;
using io_test::spill;
using io_test::TempDir;
namespace fs = std::filesystem;

namespace {

using Types = TypeList<int4, int8>;
using Small = BasicStoredModel<Types, TypeList<float>>;
const QuantSpec by_groups = spec_of<W4>();
constexpr std::size_t width = 64, outputs = 6;

std::vector<float> weights(unsigned seed) { return noise(outputs * width, seed); }
Hessian hessian(unsigned seed, std::size_t inputs = width) {
  const std::vector<float> x = ptq_test::activations(100, inputs, seed);
  const ConstTensorView view(x.data(), {100, inputs});
  Hessian h(ptq_test::ranges_of(view));
  h.add(view);
  return h;
}
Hessians hessians() {
  return Hessians({{"fc1", hessian(1)}, {"fc2.weight", hessian(2)}, {"shared", hessian(3)}});
}

void write_matrices(const fs::path& path, const std::map<std::string, unsigned>& seeds) {
  std::vector<SavedTensor> tensors;
  std::vector<std::vector<float>> values;
  values.reserve(seeds.size());
  for (const auto& [name, seed] : seeds) {
    values.push_back(weights(seed));
    tensors.push_back({name, ConstTensorView(values.back().data(), {outputs, width})});
  }
  save(path, tensors);
}

EncodedWeights expected(unsigned seed, const Hessian& h, const WeightAlgorithm& algorithm,
                        const QuantSpec& spec = by_groups) {
  const std::vector<float> w = weights(seed);
  return encode_weights<Types>(ConstTensorView(w.data(), {outputs, width}), spec, h, algorithm);
}

const ConvertedTensor& of(const ConversionReport& report, const std::string& name) {
  for (const ConvertedTensor& t : report.tensors)
    if (t.source->name == name) return t;
  throw std::runtime_error(name);
}

}  // namespace

TEST_CASE("weights of a model are encoded by an algorithm, whatever the number of threads") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors", out = folder / "out.safetensors";
  write_matrices(in, {{"fc1.weight", 1}, {"fc2.weight", 2}});
  const Hessians known = hessians();
  ConvertOptions options;
  options.hessians = &known;
  for (const char* name : {"gptq", "rtn-weighted"}) {
    options.algorithm = {.name = name};
    options.jobs = 1;
    const ConversionReport report = convert_model<Small>(in, out, by_groups, options);
    Small model(out);
    for (unsigned i = 1; i <= 2; ++i) {
      const std::string tensor = "fc" + std::to_string(i) + ".weight";
      const EncodedWeights wanted = expected(i, hessian(i), options.algorithm);
      CHECK(is_same(model.load<EncodedTensor>(tensor), wanted.tensor));
      CHECK(of(report, tensor).weights == wanted.report);
      CHECK(of(report, tensor).metrics.count == outputs * width);
    }
    options.jobs = 3;
    (void)convert_model<Small>(in, folder / "jobs.safetensors", by_groups, options);
    CHECK(slurp(folder / "jobs.safetensors") == slurp(out));
  }
}

TEST_CASE("a configuration has an algorithm for each tensor") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors", out = folder / "out.safetensors";
  write_matrices(in, {{"fc1.weight", 1}, {"fc2.weight", 2}, {"fc3.weight", 3}, {"fc4.weight", 4}});
  const Hessians known = hessians();
  ConvertOptions options;
  options.hessians = &known;
  spill(folder / "c.json", R"({"version": 1, "default": "int4_g32", "algorithm": "gptq", "nodes": [
    {"name": "fc2.weight", "algorithm": {"name": "gptq", "order": "natural", "sweeps": 0}},
    {"name": "fc3.weight", "scheme": "int8", "algorithm": {"name": "gptq", "inputs": "shared"}},
    {"name": "fc4.weight", "algorithm": "rtn"}]})");
  const ConversionReport report = convert_model<Small>(in, out, folder / "c.json", options);
  Small model(out);
  CHECK(is_same(model.load<EncodedTensor>("fc1.weight"),
                expected(1, hessian(1), {.name = "gptq"}).tensor));
  CHECK(is_same(model.load<EncodedTensor>("fc2.weight"),
                expected(2, hessian(2), {.name = "gptq", .order = "natural", .sweeps = 0}).tensor));
  CHECK(is_same(model.load<EncodedTensor>("fc3.weight"),
                expected(3, hessian(3), {.name = "gptq"}, scheme_of("int8")).tensor));
  CHECK(is_same(model.load<EncodedTensor>("fc4.weight"),
                expected(4, hessian(1), {.name = "rtn"}).tensor));
  CHECK(of(report, "fc4.weight").weights == std::nullopt);
  options.algorithm = {.name = "gptq"};
  CHECK_THROWS_AS(convert_model<Small>(in, out, folder / "c.json", options), store::OptionError);
}

TEST_CASE("offsets of a model are found without Hessians, for all weights and for some") {
  const TempDir folder;
  const fs::path in = folder / "in", out = folder / "out", whole = folder / "whole";
  fs::create_directory(in);
  write_matrices(in / "a.safetensors", {{"fc1.weight", 1}});
  write_matrices(in / "b.safetensors", {{"fc2.weight", 2}});
  spill(in / "model.safetensors.index.json",
        R"({"metadata": {"total_size": 3072},
            "weight_map": {"fc1.weight": "a.safetensors", "fc2.weight": "b.safetensors"}})");
  QuantSpec spec = by_groups;
  spec.symmetry = FloatOffset::name;
  const auto wanted = [&](unsigned seed) {
    const std::vector<float> w = weights(seed);
    return encode_weights<Types>(ConstTensorView(w.data(), {outputs, width}), spec,
                                 {.name = "hqq"});
  };
  ConvertOptions options;
  options.algorithm = {.name = "hqq"};
  const ConversionReport report = convert_model<Small>(in, whole, spec, options);
  CHECK(is_same(Small(whole).load<EncodedTensor>("fc1.weight"), wanted(1).tensor));
  CHECK(is_same(Small(whole).load<EncodedTensor>("fc2.weight"), wanted(2).tensor));
  CHECK(of(report, "fc2.weight").weights == wanted(2).report);

  ConvertOptions stops = options;
  stops.jobs = 2;
  stops.progress = [&](std::uint64_t done, std::uint64_t all) {
    if (done == all) throw std::runtime_error("enough");
  };
  test::refused(errc::io_failure, [&] { (void)convert_model<Small>(in, out, spec, stops); });
  ConvertOptions others = options;
  others.algorithm.norm = 0.5;
  test::raises(errc::bad_argument, {"unfinished run with other options"},
               [&] { (void)convert_model<Small>(in, out, spec, others); });
  const ConversionReport rest = convert_model<Small>(in, out, spec, options);
  CHECK(rest.reused_shards.value_or(0) >= 1);
  CHECK(of(rest, "fc1.weight").weights == wanted(1).report);
  for (const char* shard : {"a.safetensors", "b.safetensors"})
    CHECK(slurp(out / shard) == slurp(whole / shard));

  spill(folder / "c.json", R"({"version": 1, "default": "int4_g32", "nodes": [
    {"name": "fc1.weight", "algorithm": "hqq", "scheme": {"type": "int4", "granularity": "per_group",
     "group_size": 32, "symmetry": "float_offset"}}]})");
  (void)convert_model<Small>(in, folder / "config", folder / "c.json");
  CHECK(is_same(Small(folder / "config").load<EncodedTensor>("fc1.weight"), wanted(1).tensor));

  test::raises(
      errc::unsupported,
      {"tensor \"fc1.weight\": expected symmetry float_offset for algorithm hqq, got int4"},
      [&] { (void)convert_model<Small>(in, folder / "x", by_groups, options); });
  CHECK(!fs::exists(folder / "x"));
}

TEST_CASE("a weight without a Hessian is an error, or falls back") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors", out = folder / "out.safetensors";
  const std::vector<float> w = weights(1), stack = noise(2 * 6 * 64, 5);
  save(in, {{"fc1.weight", ConstTensorView(w.data(), {outputs, width})},
            {"fc9.weight", ConstTensorView(w.data(), {outputs, width})},
            {"stack", ConstTensorView(stack.data(), {2, 6, 64})}});
  const Hessians known = hessians();
  ConvertOptions options;
  options.algorithm = {.name = "gptq"};
  test::raises(errc::no_data, {"\"fc1.weight\"", "expected the Hessians of inputs", "got none"},
               [&] { (void)convert_model<Small>(in, out, by_groups, options); });
  options.hessians = &known;
  test::raises(errc::no_data,
               {"tensor \"fc9.weight\": expected a Hessian of its name, or that of its module, for "
                "algorithm gptq, got none of the 3 there are"},
               [&] { (void)convert_model<Small>(in, out, by_groups, options); });
  options.names.exclude = {"fc9"};
  test::raises(errc::no_data, {"tensor \"stack\": expected a matrix [outputs, inputs]"},
               [&] { (void)convert_model<Small>(in, out, by_groups, options); });
  options.names.exclude = {};
  options.algorithm.fallback = "rtn";
  const ConversionReport report = convert_model<Small>(in, out, by_groups, options);
  CHECK(!of(report, "fc1.weight").weights->is_fallback);
  for (const char* name : {"fc9.weight", "stack"}) {
    CHECK(of(report, name).weights->is_fallback);
    CHECK(of(report, name).weights->algorithm == "rtn");
  }
  const ConstTensorView view(w.data(), {outputs, width});
  CHECK(load<W4>(out, "fc9.weight") == quantize(view, calibrate<W4>(view)));

  options.algorithm.inputs = "fc7";
  test::raises(errc::unknown_name, {"fc1.weight", "got \"fc7\""}, [&] {
    (void)convert_model<Small>(in, folder / "x.safetensors", by_groups, options);
  });
  CHECK(!fs::exists(folder / "x.safetensors"));
}

TEST_CASE("Hessians that no weight takes are an error") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors", out = folder / "out.safetensors";
  const std::vector<float> w = weights(1);
  save(in, {{"fc1.weight", ConstTensorView(w.data(), {outputs, width})}});
  const Hessians known = hessians();
  ConvertOptions options;
  options.hessians = &known;
  test::raises(errc::bad_argument, {"an algorithm that takes the Hessians"},
               [&] { (void)convert_model<Small>(in, out, by_groups, options); });
  CHECK(!fs::exists(out));
}

TEST_CASE("Hessians of other layers leave nothing behind") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors", out = folder / "out.safetensors";
  const std::vector<float> w = noise(6 * 32);
  save(in, {{"fc1.weight", ConstTensorView(w.data(), {6, 32})}});
  const Hessians known = hessians();
  ConvertOptions options;
  options.algorithm = {.name = "gptq"};
  options.hessians = &known;
  test::raises(errc::shape_mismatch, {"tensor \"fc1.weight\"", "[outputs, 64]", "[6, 32]"},
               [&] { (void)convert_model<Small>(in, out, by_groups, options); });
  CHECK(!fs::exists(out));
}

TEST_CASE("a run by an algorithm is continued with the same Hessians only") {
  const TempDir folder;
  const fs::path in = folder / "in", out = folder / "out", whole = folder / "whole";
  fs::create_directory(in);
  write_matrices(in / "a.safetensors", {{"fc1.weight", 1}});
  write_matrices(in / "b.safetensors", {{"fc2.weight", 2}});
  spill(in / "model.safetensors.index.json",
        R"({"metadata": {"total_size": 3072},
            "weight_map": {"fc1.weight": "a.safetensors", "fc2.weight": "b.safetensors"}})");
  const Hessians known = hessians();
  ConvertOptions options;
  options.algorithm = {.name = "gptq"};
  options.hessians = &known;
  const ConversionReport at_once = convert_model<Small>(in, whole, by_groups, options);
  ConvertOptions stops = options;
  stops.progress = [&](std::uint64_t done, std::uint64_t all) {
    if (done == all) throw std::runtime_error("enough");
  };
  test::refused(errc::io_failure, [&] { (void)convert_model<Small>(in, out, by_groups, stops); });
  const Hessians others({{"fc1", hessian(7)}, {"fc2", hessian(8)}});
  ConvertOptions other = options;
  other.hessians = &others;
  test::raises(errc::bad_argument, {"unfinished run with other options"},
               [&] { (void)convert_model<Small>(in, out, by_groups, other); });
  const ConversionReport rest = convert_model<Small>(in, out, by_groups, options);
  CHECK(rest.reused_shards.value_or(0) >= 1);
  for (const char* name : {"fc1.weight", "fc2.weight"})
    CHECK(of(rest, name).weights == of(at_once, name).weights);
  CHECK(slurp(out / "a.safetensors") == slurp(whole / "a.safetensors"));
}

TEST_CASE("a calibrator that has no part in searched scales is refused") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors", out = folder / "out.safetensors";
  write_matrices(in, {{"fc1.weight", 1}});
  const Hessians known = hessians();
  QuantSpec spec = by_groups;
  spec.calibrator = "mean_abs";
  ConvertOptions options;
  options.hessians = &known;
  for (const char* name : {"gptq", "rtn-weighted"}) {
    options.algorithm = {.name = name};
    test::raises(errc::unsupported,
                 {"tensor \"fc1.weight\": expected calibrator min_max beside scales that are "
                  "searched, got mean_abs"},
                 [&] { (void)convert_model<Small>(in, out, spec, options); });
  }
  CHECK(!fs::exists(out));
  const std::vector<float> w = weights(1);
  test::refused(errc::unsupported, [&] {
    (void)weighted_parameters<Types>(ConstTensorView(w.data(), {outputs, width}), spec,
                                     WeightedSearch(hessian(1)));
  });
  options.algorithm = {.name = "gptq", .scales = "min_max"};
  (void)convert_model<Small>(in, out, spec, options);
  CHECK(is_same(Small(out).load<EncodedTensor>("fc1.weight"),
                expected(1, hessian(1), options.algorithm, spec).tensor));
}

TEST_CASE("matrices with their inputs first are refused, also square ones") {
  const TempDir folder;
  const char* const name = "h.0.attn.c_proj.weight";
  const std::vector<float> square = noise(width * width), wide = noise(width * 3 * width),
                           bias = noise(3 * width);
  const ConstTensorView view(square.data(), {width, width});
  const SavedTensor projection{name, view};
  const SavedTensor widens{"h.0.attn.c_attn.weight", ConstTensorView(wide.data(), {width, 192})};
  const Hessians known({{"h.0.attn.c_proj", hessian(1)}});
  ConvertOptions options;
  options.algorithm = {.name = "gptq"};
  options.hessians = &known;
  options.names.include = {"c_proj"};
  const auto convert = [&](const std::string& model, const std::vector<SavedTensor>& tensors) {
    fs::create_directories(folder / model);
    save(folder / model / "model.safetensors", tensors);
    return convert_model<Small>(folder / model, folder / (model + "-out/"), by_groups, options);
  };
  const auto refuses = [&](const std::string& model, const std::vector<SavedTensor>& tensors) {
    INFO(model);
    test::raises(errc::no_data,
                 {name,
                  "expected a matrix [outputs, inputs] for algorithm gptq, got [64, 64] of "
                  "inputs first"},
                 [&] { (void)convert(model, tensors); });
  };
  fs::create_directories(folder / "config");
  spill(folder / "config" / "config.json", R"({"model_type": "gpt2"})");
  refuses("config", {projection});
  refuses("shapes", {projection, widens});
  refuses("biases", {projection,
                     {"h.0.mlp.c_fc.weight", ConstTensorView(wide.data(), {width, 100})},
                     {"h.0.mlp.c_fc.bias", ConstTensorView(bias.data(), {100})}});
  // Linear layers of these names.
  const SavedTensor linear{"h.0.attn.c_attn.weight", ConstTensorView(wide.data(), {192, width})};
  using Tensors = std::vector<SavedTensor>;
  for (const Tensors& tensors : {Tensors{projection}, Tensors{projection, linear}}) {
    const std::string model = "linear" + std::to_string(tensors.size());
    CHECK(of(convert(model, tensors), name).weights->algorithm == "gptq");
  }
}

TEST_CASE("a file of Hessians among the activations is no batch of them") {
  const TempDir folder;
  const std::vector<float> x = ptq_test::activations(100, width, 1);
  save(folder / "acts.safetensors", {{"fc1", ConstTensorView(x.data(), {100, width})}});
  const Hessians alone = Hessians::of_activations({folder.path().string()});
  HessianWriter writer(folder / "h.npz");
  writer.add("fc1", alone.get("fc1"));
  writer.finish();
  const Hessians both = Hessians::of_activations({folder.path().string()});
  CHECK(both.names() == alone.names());
  CHECK(both.files() == std::vector<fs::path>{folder / "acts.safetensors"});
  CHECK(both.get("fc1").state().sums == alone.get("fc1").state().sums);
}

TEST_CASE("filters of convolutions are encoded group by group") {
  const TempDir folder;
  const fs::path in = folder / "in.safetensors", out = folder / "out.safetensors";
  const std::vector<float> depthwise = noise(8 * 9, 7), dense = noise(4 * 18, 8);
  save(in, {{"conv1.weight", ConstTensorView(depthwise.data(), {8, 1, 3, 3})},
            {"conv2.weight", ConstTensorView(dense.data(), {4, 2, 3, 3})}});
  const Hessian of_conv1 = hessian(1, 8 * 9), of_conv2 = hessian(2, 18);
  const QuantSpec spec{.type = "int4"};
  const WeightAlgorithm gptq{.name = "gptq"};
  const EncodedWeights wanted1 =
      encode_weights<Types>(ConstTensorView(depthwise.data(), {8, 1, 3, 3}), spec,
                            HessianStack<Hessian>::of_whole(of_conv1, 8), gptq);
  const EncodedWeights wanted2 =
      encode_weights<Types>(ConstTensorView(dense.data(), {4, 2, 3, 3}), spec,
                            HessianStack<Hessian>::of_whole(of_conv2, 1), gptq);
  const Hessians known({{"conv1", of_conv1}, {"conv2", of_conv2}});
  ConvertOptions options;
  options.hessians = &known;
  options.algorithm = gptq;
  options.jobs = 2;
  const ConversionReport report = convert_model<Small>(in, out, spec, options);
  Small model(out);
  CHECK(is_same(model.load<EncodedTensor>("conv1.weight"), wanted1.tensor));
  CHECK(is_same(model.load<EncodedTensor>("conv2.weight"), wanted2.tensor));
  CHECK(of(report, "conv1.weight").weights == wanted1.report);
  CHECK(of(report, "conv2.weight").weights == wanted2.report);
  CHECK(wanted1.report.loss <= wanted1.report.loss_of_rounding);

  // Hessians of other layers, which a fallback leaves out.
  const Hessians wrong({{"conv1", hessian(3, 7 * 9)}, {"conv2", hessian(3, 20)}});
  options.hessians = &wrong;
  options.overwrite = true;
  test::raises(
      errc::no_data,
      {"tensor \"conv1.weight\": expected a Hessian of 9 inputs for each group of filters, "
       "got one of 63 inputs for 8 filters"},
      [&] { (void)convert_model<Small>(in, out, spec, options); });
  options.algorithm.fallback = "rtn";
  for (const ConvertedTensor& t : convert_model<Small>(in, out, spec, options).tensors)
    CHECK(t.weights->is_fallback);
}
