// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/model/quantizer.hpp>
#include <tq/ops/fake_quantize.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/tensor_types.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace tq;

namespace {

using Types = TypeList<int8, int4, uint8>;
using TestQuantizer = Quantizer<Types, TypeList<float, float16>>;

QuantConfig activations() {
  return QuantConfig::int8().per_tensor().asymmetric().with_minimum_samples(3);
}

std::vector<float> noise(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random()) * 0x1p-30f - 2.0f;
  return x;
}

void observe_all(TestQuantizer& quantizer, const std::string& name, unsigned first, unsigned last) {
  for (unsigned seed = first; seed < last; ++seed) quantizer.observe(name, noise(50, seed));
}

std::string codes_text(const EncodedTensor& t) {
  std::string text;
  for (const std::byte b : t.codes.span()) text += std::to_string(std::to_integer<int>(b)) + " ";
  return text;
}

}  // namespace

TEST_CASE("parameters are those of all that was observed, and codes follow the formula") {
  TestQuantizer quantizer(activations());
  quantizer.add({"a", NodeKind::activation});
  float low = 0, high = 0;
  for (unsigned seed = 0; seed < 3; ++seed) {
    const std::vector<float> x = noise(50, seed);
    low = std::min(low, *std::min_element(x.begin(), x.end()));
    high = std::max(high, *std::max_element(x.begin(), x.end()));
    quantizer.observe("a", x);
  }
  quantizer.finalize();
  const EncodedTensor& params = quantizer.params("a");
  const double scale = (double{high} - double{low}) / 255;
  REQUIRE(params.scales.size() == 1);
  CHECK(std::abs(double{params.scales[0]} - scale) < scale * 1e-6);
  const auto zero = static_cast<int>(std::nearbyint(-128 - double{low} / double{params.scales[0]}));
  CHECK(params.zero_points.values() == std::vector<std::int32_t>{zero});

  const std::vector<float> x = noise(33, 9);
  const EncodedTensor q = quantizer.quantize("a", x);
  REQUIRE(q.codes.size() == 33);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double code =
        std::clamp(std::nearbyint(double{x[i] / params.scales[0]}) + zero, -128.0, 127.0);
    CHECK(static_cast<std::int8_t>(std::to_integer<std::uint8_t>(q.codes.span()[i])) == code);
  }
  const std::vector<float> back = decode<Types, TypeList<float, float16>>(q);
  double signal = 0, noise_sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    signal += double{x[i]} * double{x[i]};
    noise_sum += (double{x[i]} - double{back[i]}) * (double{x[i]} - double{back[i]});
  }
  const NodeSummary node = quantizer.summary().nodes.at(0);
  CHECK(node.error.count == 33);
  CHECK(std::abs(node.error.sqnr_db - 10 * std::log10(signal / noise_sum)) < 1e-9);
}

TEST_CASE("each node must have seen its samples, however many the others saw") {
  TestQuantizer quantizer(activations().with_rule(
      {.which = NodeSelector::name("weight"), .minimum_samples = std::uint64_t{0}}));
  for (const char* name : {"a", "b", "c", "weight"}) quantizer.add({name});
  observe_all(quantizer, "a", 0, 100);
  observe_all(quantizer, "b", 0, 2);
  const std::vector<Shortfall> missing = quantizer.shortfalls();
  REQUIRE(missing.size() == 2);
  CHECK(missing[0].name == "b");
  CHECK(missing[0].samples == 2);
  CHECK(missing[1].name == "c");
  CHECK(missing[1].minimum_samples == 3);
  test::raises(errc::no_data, {"2 of 4", "b saw 2 of 3 tensors", "c saw 0 of 3 tensors"},
               [&] { quantizer.finalize(); });
  test::raises(errc::no_data, {"\"a\"", "finalize"}, [&] { (void)quantizer.params("a"); });
  observe_all(quantizer, "b", 2, 3);
  observe_all(quantizer, "c", 0, 3);
  quantizer.finalize();
  CHECK_NOTHROW(quantizer.params("a"));
  // A node that needs no samples and saw none is quantized by its own values.
  const EncodedTensor q = quantizer.quantize("weight", std::vector<float>{-1, 0, 1.5f});
  CHECK(q.scales.values().at(0) == 2.5f / 255);
  test::raises(errc::no_data, {"\"weight\""}, [&] { (void)quantizer.params("weight"); });
}

TEST_CASE("a node of zeros does not stop the others, one without finite values is named") {
  TestQuantizer quantizer(activations().with_minimum_samples(1));
  for (const char* name : {"zeros", "nan", "good"}) quantizer.add({name});
  quantizer.observe("zeros", std::vector<float>(10, 0.0f));
  quantizer.observe("good", noise(10, 1));
  quantizer.observe("nan", std::vector<float>(4, std::numeric_limits<float>::quiet_NaN()));
  test::raises(errc::no_data, {"1 of 3", "nan: expected finite values"},
               [&] { quantizer.finalize(); });
  quantizer.observe("nan", std::vector<float>{1, 2});
  quantizer.finalize();
  CHECK(quantizer.params("zeros").scales.values().at(0) > 0);
  const EncodedTensor q = quantizer.quantize("zeros", std::vector<float>(10, 0.0f));
  CHECK(decode<Types, TypeList<float, float16>>(q) == std::vector<float>(10, 0.0f));
}

TEST_CASE("calibrated parameters are those of calibrate with static types") {
  // Per channel and per group, and scales that are stored as float16.
  QuantSpec group = scheme_of("int4_g32");
  group.scale_type = "float16";
  group.group_size = 8;
  const QuantConfig config = QuantConfig::int8()
                                 .per_channel(1)
                                 .with_minimum_samples(2)
                                 .with_calibration("mean_std")
                                 .with_rule({.which = NodeSelector::name("g"),
                                             .scheme = group,
                                             .observer = "min_max",
                                             .calibrator = "min_max"});
  TestQuantizer quantizer(config);
  quantizer.add({"c"});
  quantizer.add({"g"});
  using C8 = QuantParams<int8, PerChannel<1>, Symmetric>;
  using G4 = QuantParams<int4, PerGroup<8>, Symmetric, float16>;
  Observer<MeanStd, PerChannel<1>> channels;
  Observer<MinMax, PerGroup<8>> groups;
  for (unsigned seed = 0; seed < 2; ++seed) {
    const std::vector<float> x = noise(60, seed);
    const ConstTensorView view(x.data(), {5, 12});
    quantizer.observe("c", view);
    quantizer.observe("g", view);
    channels.observe(view);
    groups.observe(view);
  }
  quantizer.finalize();
  const C8 c = calibrate<C8>(channels, MeanStdCalibrator{});
  const G4 g = calibrate<G4>(groups);
  CHECK(std::ranges::equal(quantizer.params("c").scales.values(), c.scales()));
  CHECK(std::ranges::equal(quantizer.params("g").scales.values(), g.scales()));
  const std::vector<float> x = noise(60, 5);
  const ConstTensorView view(x.data(), {5, 12});
  CHECK(std::ranges::equal(decode<Types, TypeList<float, float16>>(quantizer.quantize("g", view)),
                           fake_quantize(view, g)));
  CHECK(std::ranges::equal(decode<Types, TypeList<float, float16>>(quantizer.quantize("c", view)),
                           fake_quantize(view, c)));
  // A view with strides is the tensor that it shows.
  std::vector<float> turned(60);
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 12; ++j) turned[j * 5 + i] = x[i * 12 + j];
  const ConstTensorView strided(turned.data(), Shape{5, 12}, Strides{1, 5});
  CHECK(codes_text(quantizer.quantize("c", strided)) == codes_text(quantizer.quantize("c", view)));
  const ConstTensorView other(x.data(), {12, 5});
  test::raises(errc::shape_mismatch, {"scales"}, [&] { (void)quantizer.quantize("c", other); });
}

TEST_CASE("nodes with float offsets are calibrated, quantized and trained") {
  using Offsets = QuantParams<uint8, PerChannel<0>, FloatOffset, float16>;
  TestQuantizer quantizer(QuantConfig::qat().with_minimum_samples(1).with_scheme(
      NodeSelector::name("a"), spec_of<Offsets>()));
  quantizer.add({"a"});
  std::vector<float> x = noise(60, 3);
  for (float& v : x) v += 100;
  const ConstTensorView view(x.data(), {5, 12});
  quantizer.observe("a", view);
  quantizer.finalize();
  const Offsets params = calibrate<Offsets>(view);
  CHECK(std::ranges::equal(quantizer.params("a").scales.values(), params.scales()));
  CHECK(std::ranges::equal(quantizer.params("a").offsets.values(), params.offsets()));
  CHECK(quantizer.params("a").zero_points.empty());
  const EncodedTensor q = quantizer.quantize("a", view);
  CHECK(
      std::ranges::equal(decode<Types, TypeList<float, float16>>(q), fake_quantize(view, params)));
  CHECK(quantizer.summary().nodes.at(0).bytes_after() == 60 + 5 * 2 * 2);
  auto fake = quantizer.fake_quantize("a");
  std::vector<float> dx(60);
  const std::vector<float> zeros(60, 0.0f);  // far below what the lowest codes stand for
  fake.backward(ConstTensorView(zeros.data(), {5, 12}), std::vector<float>(60, 1.0f), dx);
  CHECK(dx == zeros);
}

TEST_CASE("in mode dynamic every tensor has its own parameters") {
  TestQuantizer quantizer(QuantConfig::int8().per_tensor().with_mode(QuantMode::dynamic_));
  quantizer.add({"a"});
  quantizer.observe("a", std::vector<float>(10, 100.0f));
  quantizer.finalize();
  const std::vector<float> x = noise(40, 2);
  const EncodedTensor q = quantizer.quantize("a", x),
                      expected = encode<Types>(x, QuantConfig::int8().per_tensor().scheme);
  CHECK(q.scales == expected.scales);
  CHECK(codes_text(q) == codes_text(expected));
  test::raises(errc::no_data, {"each tensor has its own"}, [&] { (void)quantizer.params("a"); });
  test::raises(errc::bad_argument, {"mode qat, got dynamic"},
               [&] { (void)quantizer.fake_quantize("a"); });
}

TEST_CASE("what is left as it is says why") {
  TestQuantizer quantizer(activations().skip_kind(NodeKind::norm));
  CHECK(quantizer.add({"n", NodeKind::norm, {"a", "b"}, 16}).is_skipped());
  quantizer.observe("n", noise(10, 1));
  CHECK(quantizer.shortfalls().empty());
  quantizer.finalize();
  for (const auto& call : {+[](TestQuantizer& q) { (void)q.params("n"); },
                           +[](TestQuantizer& q) { (void)q.quantize("n", noise(10, 1)); }})
    test::raises(errc::bad_argument, {"left as it is: skip[0]: kind norm"},
                 [&] { call(quantizer); });
  const QuantizationSummary summary = quantizer.summary();
  CHECK(summary.nodes.at(0).decided_by == "skip[0]: kind norm");
  CHECK(summary.bytes_before() == 20);
  CHECK(summary.bytes_after() == 20);
  CHECK(summary.types().at("float") == 1);
  CHECK(quantizer.state().at(0).node == QuantNode{"n", NodeKind::norm, {"a", "b"}, 16});
}

TEST_CASE("bad calls are refused, and do nothing") {
  TestQuantizer quantizer(activations().with_minimum_samples(1));
  quantizer.add({"encoder.fc1"});
  test::raises(errc::bad_argument, {"every node once", "\"encoder.fc1\""},
               [&] { quantizer.add({"encoder.fc1"}); });
  test::raises(errc::unknown_name, {"\"encoder.fc\"", "did you mean \"encoder.fc1\""},
               [&] { quantizer.observe("encoder.fc", noise(3, 1)); });
  test::raises(errc::unknown_name, {"float8"}, [] { (void)TestQuantizer(QuantConfig::fp8()); });
  quantizer.observe("encoder.fc1", noise(3, 1));
  test::raises(errc::no_data, {"finalize"},
               [&] { (void)quantizer.quantize("encoder.fc1", noise(3, 1)); });
  quantizer.finalize();
  const float infinity = std::numeric_limits<float>::infinity();
  test::raises(errc::not_finite, {"encoder.fc1", "got inf at element 1"},
               [&] { (void)quantizer.quantize("encoder.fc1", std::vector<float>{1, infinity}); });
  CHECK(quantizer.summary().nodes.at(0).error.count == 0);
  CHECK(quantizer.quantize("encoder.fc1", std::vector<float>{}).codes.size() == 0);
  CHECK(quantizer.quantize("encoder.fc1", std::vector<float>{1}).codes.size() == 1);
}

TEST_CASE("threads observe the same as one after the other") {
  for (const char* observer : {"min_max", "mean_std", "histogram", "percentile"}) {
    INFO(observer);
    const QuantConfig config = activations().with_calibration("", observer);
    TestQuantizer in_turn(config), parallel(config);
    for (const char* name : {"a", "b"}) {
      in_turn.add({name});
      parallel.add({name});
      observe_all(in_turn, name, 0, 40);
    }
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (const char* name : {"a", "b"}) observe_all(parallel, name, 10 * t, 10 * (t + 1));
      });
    for (std::thread& thread : threads) thread.join();
    in_turn.finalize();
    parallel.finalize();
    for (const char* name : {"a", "b"}) {
      CHECK(in_turn.params(name).scales == parallel.params(name).scales);
      CHECK(in_turn.params(name).zero_points == parallel.params(name).zero_points);
    }
  }
}

TEST_CASE("what three saw, merged in order, is what one saw") {
  for (const char* observer : {"min_max", "moving_average", "histogram"}) {
    INFO(observer);
    const QuantConfig config = activations().with_minimum_samples(9).with_calibration("", observer);
    TestQuantizer all(config), first(config), second(config), third(config);
    for (TestQuantizer* each : {&all, &first, &second}) each->add({"a"});
    third.add({"b"});
    third.add({"a"});
    all.add({"b"});
    observe_all(all, "a", 0, 9);
    observe_all(all, "b", 0, 9);
    observe_all(first, "a", 0, 3);
    observe_all(second, "a", 3, 6);
    observe_all(third, "a", 6, 9);
    observe_all(third, "b", 0, 9);
    first.merge(second);
    test::raises(errc::no_data, {"a saw 6 of 9"}, [&] { first.finalize(); });
    first.merge(third);
    first.finalize();
    all.finalize();
    for (const char* name : {"a", "b"}) {
      CHECK(first.params(name).scales == all.params(name).scales);
      CHECK(first.params(name).zero_points == all.params(name).zero_points);
    }
    // States go through the same.
    TestQuantizer resumed(config, first.state());
    resumed.finalize();
    CHECK(resumed.params("a").scales == all.params("a").scales);
  }
}

TEST_CASE("quantizers that do not go together are not merged") {
  TestQuantizer a(activations()), b(activations().with_minimum_samples(4));
  test::raises(errc::bad_argument, {"same configuration"}, [&] { a.merge(b); });
  a.add({"x"});
  observe_all(a, "x", 0, 3);
  a.finalize();
  // Per tensor in one, per channel in the other: the state says so.
  std::vector<NodeState> states = a.state();
  test::raises(errc::bad_argument, {"\"x\"", "per_channel(axis 0)", "per_tensor"},
               [&] { TestQuantizer other(activations().per_channel(0), std::move(states)); });
  TestQuantizer channels(activations().per_channel(0)), others(activations().per_channel(0));
  for (TestQuantizer* each : {&channels, &others}) each->add({"x"});
  const std::vector<float> x = noise(12, 1);
  channels.observe("x", ConstTensorView(x.data(), {3, 4}));
  others.observe("x", ConstTensorView(x.data(), {4, 3}));
  others.add({"new"});
  test::raises(errc::bad_argument, {"\"x\"", "3 slots", "4"}, [&] { channels.merge(others); });
  CHECK(channels.state().size() == 1);
}

TEST_CASE(
    "training: forward is there and back by what was seen, gradients stop outside the range") {
  const QuantConfig config =
      QuantConfig::qat("int8").per_tensor().asymmetric().with_minimum_samples(1).skip_name("s");
  TestQuantizer quantizer(config);
  quantizer.add({"a"});
  quantizer.add({"s"});
  auto fake = quantizer.fake_quantize("a");
  const std::vector<float> x{0, 1, 2.55f}, ones(3, 1.0f);
  std::vector<float> y(3), dx(3);
  test::raises(errc::no_data, {"\"a\""}, [&] { fake.backward(x, ones, dx); });
  fake.forward(x, y);
  const Affine affine{2.55f / 255, -128};
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(y[i] == std::nearbyint(x[i] / affine.scale) * affine.scale);
  fake.forward(std::vector<float>{-2.55f, 0, 0}, y);  // the range grows
  CHECK(quantizer.params("a").scales.values().at(0) == 5.1f / 255);
  quantizer.finalize();
  fake.forward(std::vector<float>{100, 0, -100}, y);  // and then stays
  CHECK(quantizer.params("a").scales.values().at(0) == 5.1f / 255);
  // The values of the lowest and the highest code.
  const float scale = quantizer.params("a").scales.values().at(0);
  const auto zero = static_cast<float>(quantizer.params("a").zero_points.values().at(0));
  const float low = (-128 - zero) * scale, high = (127 - zero) * scale;
  CHECK(y[0] == high);
  CHECK(y[2] == low);
  const std::vector<float> edge{low, high, std::nextafter(low, -9.0f), std::nextafter(high, 9.0f),
                                0};
  std::vector<float> gradient(5);
  fake.backward(edge, std::vector<float>{1, 2, 3, 4, 5}, gradient);
  CHECK(gradient == std::vector<float>{1, 2, 0, 0, 5});
  auto left = quantizer.fake_quantize("s");
  left.forward(x, y);
  CHECK(y == x);
  left.backward(x, ones, dx);
  CHECK(dx == ones);
  test::raises(errc::shape_mismatch, {}, [&] { left.forward(x, std::span<float>(y).first(2)); });
}

TEST_CASE("sizes count codes, scales, zero points and padding, each node by its size") {
  // 7 of 4 bits are 4 bytes, of which 4 bits are no code.
  TestQuantizer quantizer(QuantConfig::int4()
                              .per_tensor()
                              .asymmetric()
                              .with_mode(QuantMode::dynamic_)
                              .with_scheme(NodeSelector::name("big"), scheme_of("int8"))
                              .skip_name("float"));
  for (const char* name : {"small", "big", "float"}) quantizer.add({name});
  (void)quantizer.quantize("small", noise(7, 1));
  const std::vector<float> big = noise(1000, 2);
  (void)quantizer.quantize("big", ConstTensorView(big.data(), {10, 100}));
  quantizer.observe("float", noise(100, 3));
  const QuantizationSummary summary = quantizer.summary();
  const NodeSummary& small = summary.nodes.at(0);
  CHECK(small.code_bytes == 4);
  CHECK(small.padding_bits == 4);
  CHECK(small.scale_bytes == 4);
  CHECK(small.zero_point_bytes == 1);
  CHECK(small.bytes_after() == 9);
  CHECK(small.bytes_before == 28);
  CHECK(summary.nodes.at(1).bytes_after() == 1000 + 10 * 4);
  CHECK(summary.bytes_before() == 28 + 4000 + 400);
  CHECK(summary.bytes_after() == 9 + 1040 + 400);
  CHECK(summary.saved() == 1 - 1449.0 / 4428);
  CHECK(summary.types().at("int4") == 1);
  const std::string text = to_string(summary);
  for (const char* part :
       {"small", "int4 per_tensor asymmetric", "skip[0]: name float",
        "3 nodes: 1 float 1 int4 1 int8", "4428 bytes before, 1449 after, 67.3 % saved"}) {
    INFO(text << "\nwanted: " << part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(QuantizationSummary{}.saved() == 0);
}

TEST_CASE("stacks of matrices get a scale for each output of each matrix") {
  constexpr std::size_t count = 3, rows = 4, columns = 16;
  const std::vector<float> x = noise(count * rows * columns, 5);
  const ConstTensorView stack(x.data(), {count, rows, columns});
  const QuantConfig config = QuantConfig::int4().with_minimum_samples(0);
  TestQuantizer quantizer(config);
  const std::string name = "layers.0.mlp.experts.up_proj";
  quantizer.add({name, NodeKind::linear});
  QuantNode known{"layers.1.mlp.experts.up_proj", NodeKind::linear};
  known.shape = {count, rows, columns};
  quantizer.add(known);
  quantizer.add({"image", NodeKind::conv});
  const EncodedTensor codes = quantizer.quantize(name, stack);
  for (std::size_t i = 0; i < count; ++i) {
    TestQuantizer alone(config);
    alone.add({"w", NodeKind::linear});
    const EncodedTensor one =
        alone.quantize("w", ConstTensorView(x.data() + i * rows * columns, {rows, columns}));
    for (std::size_t r = 0; r < rows; ++r)
      CHECK(codes.scales.values()[i * rows + r] == one.scales.values()[r]);
  }
  CHECK(quantizer.quantize("image", stack).scales.size() == count);
  CHECK(quantizer.summary().nodes[0].scheme == "int4 per_group(16, axis -1) symmetric");
  CHECK(quantizer.summary().nodes[0].scale_bytes == 4 * count * rows);
  // One that is observed needs its shape beforehand, and keeps it when it is stored.
  quantizer.observe(known.name, stack);
  quantizer.finalize();
  CHECK(codes_text(quantizer.quantize(known.name, stack)) == codes_text(codes));
  const TestQuantizer again(config, quantizer.state());
  CHECK(again.state().at(1).node.shape == known.shape);
}

TEST_CASE("a summary says in a line which kinds are kept in float, and which were not found") {
  TestQuantizer quantizer(QuantConfig::int8());
  quantizer.add({"lm_head", NodeKind::head});
  for (const char* name : {"gate.0", "gate.1"}) quantizer.add({name, NodeKind::router});
  quantizer.add({"fc", NodeKind::linear});
  const std::string text = to_string(quantizer.summary());
  CHECK(text.ends_with("kept in float: head lm_head; router 2 (gate.0, ...); no position found\n"));
}

TEST_CASE("a shape that a scheme does not fit is refused in every mode, and nothing has changed") {
  QuantSpec columns;
  columns.type = "int8";
  columns.granularity = "per_channel";
  columns.axis = 1;
  columns.symmetry = "symmetric";
  const std::vector<float> x(8, 1.0f);
  for (const QuantMode mode : {QuantMode::static_, QuantMode::dynamic_, QuantMode::qat}) {
    QuantConfig config;
    config.scheme = columns;
    config.mode = mode;
    TestQuantizer quantizer(config);
    quantizer.add({"a", NodeKind::activation});
    quantizer.add({"b", NodeKind::activation});
    quantizer.observe("a", ConstTensorView(x.data(), {2, 4}));
    for (const Shape& shape : {Shape{8}, Shape{0}, Shape{}})
      test::raises(errc::bad_axis, {"tq::Quantizer::observe", "\"b\"", "per_channel"},
                   [&] { quantizer.observe("b", ConstTensorView(x.data(), shape)); });
    const QuantizationSummary summary = quantizer.summary();
    CHECK(summary.nodes.at(0).elements == 8);
    CHECK(summary.nodes.at(1).elements == 0);
    CHECK(summary.nodes.at(1).samples == 0);
  }
}

TEST_CASE("tensors of any kind count as float32", "[quantizer]") {
  const somebody::Matrix<double> wide{{1.5, -2, 1e-9, 0.3, 7, -0.1}, 2, 3};
  const std::vector<float> floats{1.5f, 1e-9f, 7, -2, 0.3f, -0.1f};
  const auto codes = [](const auto& seen) {
    tq::Quantizer<> quantizer(tq::QuantConfig::int8().per_tensor().asymmetric());
    quantizer.add({"relu", tq::NodeKind::activation});
    for (int i = 0; i < 100; ++i) quantizer.observe("relu", seen);
    quantizer.finalize();
    return quantizer.quantize("relu", seen).codes;
  };
  const auto expected = codes(tq::ConstTensorView(floats.data(), {2, 3}));
  CHECK(std::ranges::equal(codes(wide).span(), expected.span()));
}
