// SPDX-License-Identifier: MIT
// JSON documents of every kind: what is read is written as a document that means the same, and what
// was restored goes on.
#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/core/formats.hpp>
#include <tq/json/detail/accumulator_json.hpp>
#include <tq/json/fake_quantize_json.hpp>
#include <tq/json/json.hpp>
#include <tq/json/observer_json.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/train/learned_affine.hpp>

#include <limits>

#include "fuzz.hpp"
#include "scratch.hpp"

namespace {

using namespace tq;
using tq::io::Json;

// Large and small, and what is skipped; the same for every document.
const std::vector<float> numbers{0.0f,
                                 -1.5f,
                                 0.25f,
                                 3e38f,
                                 1e-44f,
                                 -7.0f,
                                 2.0f,
                                 std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN()};

template <class T, class Write, class Read>
void check_same(const T& value, const Write& write, const Read& read) {
  const Json first = write(value);
  fuzz::require(write(read(tq::io::parse_json(first.dump()))) == first,
                "a document that is read as it was written");
}

template <class Types, class ScaleTypes>
void check_spec(const Json& json) {
  fuzz::accepts([&] {
    check_same(tq::io::spec_from_json<Types, ScaleTypes>(json), &tq::io::spec_to_json,
               [](const Json& j) { return tq::io::spec_from_json<Types, ScaleTypes>(j); });
  });
}

template <class Params>
void check_params(const Json& json) {
  fuzz::accepts([&] {
    const auto read = [](const Json& j) { return tq::io::params_from_json<Params>(j); };
    const Params params = read(json);
    check_same(params, [](const Params& p) { return tq::io::params_to_json(p); }, read);
    const Shape shape{2, 32};
    if (params.check(shape) != errc::ok) return;
    for (std::size_t i = 0; i < param_count(params.granularity(), shape); ++i)
      static_cast<void>(params.scales()[i]);
  });
}

template <class Acc>
void check_accumulator(const Json& json) {
  fuzz::accepts([&] {
    const auto read = [](const Json& j) { return tq::io::accumulator_from_json<Acc>(j); };
    const auto write = [](const Acc& a) { return tq::io::accumulator_to_json(a); };
    Acc a = read(json);
    check_same(a, write, read);
    Acc other = a;
    a.add(numbers);
    fuzz::accepts([&] { other.merge(a); });
    if constexpr (requires { a.range(); })
      if (!a.empty()) fuzz::require(a.range().min <= a.range().max, "a range after finite values");
    check_same(a, write, read);
  });
}

template <class Obs>
void check_observer(const Json& json) {
  fuzz::accepts([&] {
    const auto read = [](const Json& j) { return tq::io::observer_from_json<Obs>(j); };
    const auto write = [](const Obs& o) { return tq::io::observer_to_json(o); };
    Obs observer = read(json);
    check_same(observer, write, read);
    const Obs other = observer;
    for (const Shape& shape : {Shape{9}, Shape{3, 3}})
      fuzz::accepts([&] { observer.observe(ConstTensorView(numbers.data(), shape)); });
    fuzz::accepts([&] { observer.merge(other); });
    check_same(observer, write, read);
  });
}

template <class Layer>
void check_layer(const Json& json) {
  const auto read = [](const Json& j) {
    Layer layer;
    tq::io::fake_quantize_from_json(j, layer);
    return layer;
  };
  fuzz::accepts([&] {
    Layer layer = read(json);
    check_same(layer, [](const Layer& l) { return tq::io::fake_quantize_to_json(l); }, read);
    std::vector<float> out(numbers.size());
    layer.forward(ConstTensorView(numbers.data(), Shape{3, 3}), out);
  });
}

void check_hints(fuzz::Bytes bytes) {
  static const fuzz::Scratch folder;
  fuzz::spill(folder.path() / "config.json", bytes);
  static_cast<void>(tq::io::read_checkpoint_hints(folder.path()));
}

template <class T, class S, class Scale = float>
using Any = QuantParams<T, AnyGranularity, S, Scale>;
template <class Acc>
using AnyObserver = Observer<Acc, AnyGranularity>;
using Layer = FakeQuantize<QuantParams<uint8, PerChannel<0>, Asymmetric>, MovingAverageMinMax,
                           LearnedAffine<LogScale>>;

const fuzz::Target json_target("json", [](fuzz::Bytes bytes) {
  check_hints(bytes);
  fuzz::accepts([&] {
    const std::string text(bytes.begin(), bytes.end());
    const Json json = tq::io::parse_json(text);
    check_spec<all_integers, TypeList<float>>(json);
    check_params<Any<uint4, Asymmetric>>(json);
    check_params<Any<int8, Symmetric, float16>>(json);
    check_params<QuantParams<int32, PerChannel<0>, Asymmetric>>(json);
    check_params<QuantParams<uint4, PerGroup<32>, FloatOffset>>(json);
    check_params<mxfp4>(json);
    check_params<nvfp4>(json);
    check_params<nf4_64_double>(json);
    check_accumulator<AbsMax>(json);
    check_accumulator<BasicHistogram<8>>(json);
    check_accumulator<Histogram>(json);
    check_accumulator<MeanStd>(json);
    check_accumulator<MeanAbs>(json);
    check_accumulator<MovingAverageMinMax>(json);
    check_accumulator<Percentile>(json);
    check_observer<AnyObserver<MinMax>>(json);
    check_observer<AnyObserver<BasicHistogram<8, true>>>(json);
    check_observer<AnyObserver<MovingAverageMinMax>>(json);
    check_layer<Layer>(json);
  });
});

}  // namespace
