// SPDX-License-Identifier: MIT
#include <tq/linear/quantized_linear.hpp>
#include <tq/model/byte_weights_of.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/scheme/encoded_conversion.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

using namespace tq;

namespace {

constexpr std::size_t rows = 3, outputs = 7, inputs_of = 40;
const std::vector<float> w = inputs::normals(outputs * inputs_of, 1),
                         x = inputs::normals(rows * inputs_of, 2),
                         bias = inputs::normals(outputs, 3);
const ConstTensorView weights(w.data(), Shape{outputs, inputs_of});

std::vector<float> run(const QuantizedLinear<>& layer) {
  std::vector<float> y(rows * outputs);
  layer.forward(ConstTensorView(x.data(), Shape{rows, inputs_of}),
                TensorView<float>(y.data(), Shape{rows, outputs}));
  return y;
}

// The weights and the layer that the static type has, bit for bit.
template <class Params>
void same_as_static(typename Params::granularity_type granularity = {}) {
  const auto q = quantize_dynamic<Params>(weights, granularity);
  const EncodedTensor encoded = to_encoded(q);
  INFO(to_string(encoded.spec));
  const ByteWeights wanted(q), got = byte_weights_of(encoded);
  CHECK(got.shape() == wanted.shape());
  CHECK(std::ranges::equal(got.codes().flat(), wanted.codes().flat()));
  CHECK(std::ranges::equal(got.scales(), wanted.scales()));
  CHECK(std::ranges::equal(got.zero_points(), wanted.zero_points()));
  CHECK(std::ranges::equal(PackedWeights(got).codes(), PackedWeights(q).codes()));
  CHECK(run(QuantizedLinear<>(got, bias)) == run(QuantizedLinear<>(q, bias)));
}

EncodedTensor some() {
  using Params = QuantParams<int4, PerChannel<0>, SymmetricNarrow, float16>;
  return to_encoded(quantize_dynamic<Params>(weights));
}
void refuse(errc code, std::initializer_list<const char*> parts, auto&& change) {
  EncodedTensor t = some();
  change(t);
  test::raises(code, parts, [&] { (void)byte_weights_of(t); });
}

}  // namespace

TEST_CASE("encoded tensors are the weights of integer layers that their static types are") {
  same_as_static<QuantParams<int8, PerChannel<0>, Symmetric>>();
  same_as_static<QuantParams<uint8, PerTensor, Asymmetric>>();
  same_as_static<QuantParams<uint8, PerTensor, Symmetric>>();
  same_as_static<QuantParams<int4, PerChannel<0>, SymmetricNarrow, float16>>();
  same_as_static<QuantParams<uint3, PerToken, Asymmetric, bfloat16>>();
  same_as_static<QuantParams<int7, PerGroup<64>, Asymmetric>>();  // a group as long as a row
  same_as_static<QuantParams<ternary, PerTensor, Symmetric>>();
  same_as_static<QuantParams<int8, PerChannel<>, Symmetric, float8_e8m0fnu>>(PerChannel<>(0));
}

TEST_CASE("encoded tensors without inputs or outputs are weights, too") {
  using Params = QuantParams<uint4, PerChannel<0>, Asymmetric>;
  for (const Shape& shape : {Shape{3, 0}, Shape{0, 4}, Shape{0, 0}}) {
    const auto e = to_encoded(quantize_dynamic<Params>(ConstTensorView(nullptr, shape)));
    const PackedWeights packed(byte_weights_of(e));
    CHECK(packed.outputs() == shape[0]);
    CHECK(packed.inputs() == shape[1]);
  }
}

TEST_CASE("schemes that integer layers do not have are refused, with those that they have") {
  const auto of = []<class Params>(const Params*, std::initializer_list<const char*> parts) {
    const EncodedTensor e = to_encoded(quantize_dynamic<Params>(weights));
    test::raises(errc::unsupported, parts, [&] { (void)byte_weights_of(e); });
  };
  using Groups = QuantParams<int8, PerGroup<8>, Symmetric>;
  of(static_cast<Groups*>(nullptr),
     {"byte_weights_of", "one for each output", "int8 per_group(8, axis -1)", "[7, 40]"});
  using Columns = QuantParams<int8, PerChannel<1>, Symmetric>;
  of(static_cast<Columns*>(nullptr), {"one for each output", "per_channel(axis 1)"});
  using Wide = QuantParams<int16, PerTensor, Symmetric>;
  of(static_cast<Wide*>(nullptr), {"int2, int3", "ternary", "got int16 per_tensor"});
  using Floats = QuantParams<float8_e4m3fn, PerTensor, Symmetric>;
  of(static_cast<Floats*>(nullptr), {"int8", "got float8_e4m3fn per_tensor"});
  using Offsets = QuantParams<uint8, PerTensor, FloatOffset>;
  of(static_cast<Offsets*>(nullptr),
     {"without float offsets", "got uint8 per_tensor float_offset"});
  refuse(errc::unsupported, {"int8", "got int9"}, [](EncodedTensor& t) { t.spec.type = "int9"; });
  test::raises(errc::unsupported, {"expected a scheme of type int8,", "got int4"},
               [] { (void)byte_weights_of<TypeList<int8>>(some()); });
}

TEST_CASE("parts that do not fit each other are refused before they are read") {
  refuse(errc::shape_mismatch, {"bytes of codes", "[7, 42]"},
         [](EncodedTensor& t) { t.shape = Shape{7, 42}; });
  refuse(errc::shape_mismatch, {"8 scales"}, [](EncodedTensor& t) { t.shape = Shape{8, 35}; });
  refuse(errc::bad_axis, {"per_channel"}, [](EncodedTensor& t) { t.spec.axis = 2; });
  refuse(errc::bad_argument, {"scales", "another type"},
         [](EncodedTensor& t) { t.scales = Scales<float>(std::vector<float>(7, 1.0f)); });
  refuse(errc::bad_scale, {"positive finite"},
         [](EncodedTensor& t) { t.scales = Scales<float16>(std::vector<std::uint16_t>(7, 0)); });
  refuse(errc::bad_argument, {"codes in [-7, 7]", "-8"},
         [](EncodedTensor& t) { t.codes.data()[3] = std::byte{0x88}; });
  refuse(errc::unknown_name, {"symmetry"}, [](EncodedTensor& t) { t.spec.symmetry = "crooked"; });
  // Layers ask for two axes, as of static types.
  EncodedTensor t = some();
  t.shape = Shape{7, 8, 5};
  test::raises(errc::shape_mismatch, {"[outputs, inputs]", "[7, 8, 5]"},
               [&] { PackedWeights{byte_weights_of(t)}; });
}
