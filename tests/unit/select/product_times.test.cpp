// SPDX-License-Identifier: MIT
// Which product takes the time of a scheme, and what times do to a selection, by a made-up clock.
#include <tq/select/product_times.hpp>

#include <tq/select/precision_selector.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using tq::NodeKind;
using tq::ProductShape;
using tq::ProductTimes;
using tq::QuantSpec;
using tq::TimedWork;

// Runs what it is given, and says 1 s, 2 s, 3 s, ...
struct Clock {
  int calls = 0;
  double operator()(const std::function<void()>& f) {
    f();
    return ++calls;
  }
};

ProductShape shape_of(const QuantSpec& spec, const tq::Shape& shape,
                      NodeKind kind = NodeKind::linear) {
  return tq::product_shape(shape, tq::AnyGranularity(spec).block(shape), kind);
}

TimedWork work_of(const QuantSpec& spec, const tq::Shape& shape) {
  const tq::SampleProduct product = tq::sample_product(spec, 2, shape_of(spec, shape));
  if (product.multiply) product.multiply();
  CHECK((product.work == TimedWork::decoded_product) == !product.multiply);
  return product.work;
}

}  // namespace

TEST_CASE("a tensor is the weights of a product of its outputs and inputs") {
  const QuantSpec int4 = tq::named_scheme("int4_g32"), int8 = tq::named_scheme("int8");
  CHECK(shape_of(int4, {48, 100}) == ProductShape{48, 100, 32});
  CHECK(shape_of(int8, {48, 100}) == ProductShape{48, 100, 100});
  CHECK(shape_of(int4, {48, 20}) == ProductShape{48, 20, 20});
  CHECK(shape_of(int8, {8, 3, 5, 5}, NodeKind::conv) == ProductShape{8, 75, 75});
  CHECK(shape_of(int4, {8, 3, 5, 5}, NodeKind::conv) == ProductShape{8, 75, 5});
  CHECK(shape_of(int8, {8, 3, 5}, NodeKind::conv) == ProductShape{8, 15, 15});
  CHECK(shape_of(int4, {4, 8, 64}) == ProductShape{32, 64, 32});  // experts
  QuantSpec blocks = int8;
  blocks.granularity = "per_block";
  CHECK(shape_of(blocks, {200, 300}) == ProductShape{200, 300, 128});
}

TEST_CASE("every named scheme has the product that there is for it") {
  using enum TimedWork;
  const std::map<std::string, TimedWork> not_grouped{{"int8", int8_product},
                                                     {"nf4", grouped_float_product},
                                                     {"nf4_double", grouped_float_product},
                                                     {"bnb_fp4", grouped_float_product}};
  for (const tq::NamedScheme& scheme : tq::named_schemes()) {
    INFO(scheme.name);
    const auto found = not_grouped.find(scheme.name);
    const bool is_float = scheme.name.find("float") != std::string::npos ||
                          scheme.name.starts_with("fp8") || scheme.name.starts_with("mxfp8") ||
                          scheme.name.starts_with("mxfp6");
    const bool is_none = is_float || scheme.name == "int16" || scheme.name == "mxint8";
    CHECK(work_of(scheme.spec, {40, 96}) == (found != not_grouped.end() ? found->second
                                             : is_none                  ? decoded_product
                                                                        : grouped_int8_product));
  }
  QuantSpec spec = tq::named_scheme("int8");
  spec.granularity = "per_tensor";
  CHECK(work_of(spec, {40, 96}) == int8_product);
  spec.axis = 1;
  spec.granularity = "per_channel";  // of inputs
  CHECK(work_of(spec, {40, 96}) == decoded_product);
  spec = tq::named_scheme("uint4_g32");
  spec.group_size = 8;
  CHECK(work_of(spec, {40, 96}) == decoded_product);
  spec.symmetry = "float_offset";
  spec.group_size = 32;
  CHECK(work_of(spec, {40, 96}) == decoded_product);
  CHECK(work_of(tq::scheme_of("uint8"), {40, 96}) == int8_product);
  // One output of inputs whose sums might leave 32 bits.
  CHECK(work_of(tq::named_scheme("int8"), {1, 200000}) == decoded_product);
}

TEST_CASE("each product is measured once, and what has none is decoded and multiplied as floats") {
  const QuantSpec int8 = tq::named_scheme("int8"), half = tq::named_scheme("float16");
  Clock clock;
  ProductTimes times(3, std::ref(clock));
  CHECK(times.rows() == 3);
  const tq::Shape shape{8, 32};
  CHECK(times.float_seconds(shape_of(int8, shape)) == 1);
  CHECK(times(int8, shape_of(int8, shape), 100).seconds == 2);
  CHECK(times(int8, shape_of(int8, shape), 100).work == TimedWork::int8_product);
  const ProductTimes::Measured decoded = times(half, shape_of(half, shape), 100);
  CHECK(decoded.seconds == 101);
  CHECK(decoded.work == TimedWork::decoded_product);
  CHECK(clock.calls == 2);
  CHECK(times.float_seconds(shape_of(int8, {8, 33})) == 3);
  CHECK(clock.calls == 3);
  test::raises(tq::errc::bad_argument, {"at least one row", "got 0"}, [] { ProductTimes(0); });
}

TEST_CASE("of large tensors some outputs are measured, and all in proportion") {
  Clock clock;
  ProductTimes times(1, std::ref(clock), 640);
  const QuantSpec int4 = tq::named_scheme("int4_g32");
  CHECK(times.float_seconds(shape_of(int4, {50, 64})) == 5);          // 10 of 50
  CHECK(times(int4, shape_of(int4, {10, 64}), 0).seconds == 2);       // all
  CHECK(times(int4, shape_of(int4, {7, 1000}), 0).seconds == 3 * 7);  // one at least
}

TEST_CASE("a speedup is one of products, embeddings are looked up, and priors keep their times") {
  const std::vector<tq::NamedScheme> schemes{{"int8", tq::named_scheme("int8")},
                                             {"int4_g32", tq::named_scheme("int4_g32")},
                                             {"float16", tq::named_scheme("float16")}};
  // Times to decode 0.5 s; those of products are then: float 4 s, int8 1 s, int4_g32 2 s.
  const auto node = [](const std::string& name) {
    using tq::Evidence;
    return tq::PrecisionNode{name,
                             2048,
                             {tq::float_candidate(8192, 0.25),
                              {"int8", 2048, 1e-4, 0.5, Evidence::measured, TimedWork::decode},
                              {"int4_g32", 1280, 1e-2, 0.5, Evidence::measured, TimedWork::decode},
                              {"float16", 4096, 1e-7, 0.5, Evidence::measured, TimedWork::decode},
                              {"guess", 100, 1, 0.125, Evidence::prior}}};
  };
  int calls = 0;
  ProductTimes times(8, [&](const std::function<void()>& f) {
    f();
    constexpr double seconds[] = {4, 1, 2};
    return seconds[calls++ % 3];
  });
  tq::PrecisionModel model{{node("a.weight"), node("b.weight")}};
  for (tq::PrecisionNode& n : model.nodes)
    tq::set_product_times(n, {32, 64}, NodeKind::linear, schemes, times);
  CHECK(calls == 3);
  const auto& c = model.nodes[1].candidates;
  CHECK(c[0].seconds == 4);
  CHECK(c[0].timed == TimedWork::float_product);
  CHECK(c[1].seconds == 1);
  CHECK(c[2].seconds == 2);
  CHECK(c[2].timed == TimedWork::grouped_int8_product);
  CHECK(c[3].seconds == 4.5);
  CHECK(c[3].timed == TimedWork::decoded_product);
  CHECK(c[4].seconds == 0.125);
  CHECK(c[4].timed == TimedWork::none);
  for (tq::PrecisionNode& n : model.nodes) n.candidates.pop_back();

  const tq::PrecisionSelector selector(model);
  tq::PrecisionCriteria criteria{tq::PrecisionGoal::custom};
  for (const double least : {0.8, 1.0, 1.6, 2.0, 2.7, 4.0}) {
    criteria.min_speedup = least;
    const tq::PrecisionSelection s = selector.select(criteria);
    CHECK(s.cost.seconds <= 8 / least);
    CHECK(s.speedup >= least);
  }
  criteria.min_speedup = 2;  // 4 s for both: not float16, and of int8 the error is the least
  for (const auto& n : selector.select(criteria).nodes) CHECK(n.choice.scheme == "int8");
  criteria.min_speedup = 4.1;
  test::raises(tq::errc::bad_argument, {"the least is 2"},
               [&] { (void)selector.select(criteria); });

  tq::PrecisionNode table = node("embed_tokens.weight");
  tq::set_product_times(table, {32, 64}, NodeKind::embedding, schemes, times);
  CHECK(table.candidates[0].seconds == 0.0625);  // 8 of 32 rows
  CHECK(table.candidates[1].seconds == 0.125);
  CHECK(table.candidates[1].timed == TimedWork::lookup);
  CHECK(table.candidates[4].seconds == 0.125);
  tq::PrecisionNode small = node("gain");
  tq::set_product_times(small, {2048}, NodeKind::norm, schemes, times);
  CHECK(small.candidates[0].seconds == 0.25);
  CHECK(small.candidates[1].timed == TimedWork::decode);
  CHECK(calls == 3);
}
