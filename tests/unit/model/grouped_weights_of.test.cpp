// SPDX-License-Identifier: MIT
#include <tq/core/formats.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/grouped_weights_bytes.hpp>
#include <tq/model/grouped_weights_of.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/scheme/encoded_conversion.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

using namespace tq;

namespace {

constexpr std::size_t outputs = 37, inputs_of = 90;
const std::vector<float> w = inputs::normals(outputs * inputs_of, 1);
const ConstTensorView weights(w.data(), Shape{outputs, inputs_of});

// Everything that the static type is packed as, bit for bit.
template <class Params>
void same_as_static(typename Params::granularity_type granularity = {}) {
  const auto q = quantize_dynamic<Params>(weights, granularity);
  const EncodedTensor encoded = to_encoded(q);
  INFO(to_string(encoded.spec));
  CHECK(save_grouped_weights(grouped_weights_of(encoded)) ==
        save_grouped_weights(GroupedWeights(q)));
}

using Nibbles = QuantParams<uint4, PerGroup<32>, Asymmetric, float16>;

void refuse(errc code, std::initializer_list<const char*> parts, auto&& change) {
  EncodedTensor t = to_encoded(quantize_dynamic<Nibbles>(weights));
  change(t);
  test::raises(code, parts, [&] { (void)grouped_weights_of(t); });
}

}  // namespace

TEST_CASE("encoded tensors are the weights in groups that their static types are") {
  same_as_static<QuantParams<uint2, PerGroup<32>, Asymmetric>>();
  same_as_static<QuantParams<int3, PerGroup<16>, Asymmetric, bfloat16>>();
  same_as_static<Nibbles>();
  same_as_static<QuantParams<int4, PerGroup<>, SymmetricNarrow>>(PerGroup<>(20));
  same_as_static<QuantParams<int5, PerChannel<0>, Symmetric>>();
  same_as_static<QuantParams<uint6, PerTensor, Asymmetric>>();
  same_as_static<QuantParams<int8, PerBlock<2, 16>, Asymmetric>>();
  same_as_static<QuantParams<uint4, PerGroup<32>, FloatOffset, float16>>();
  same_as_static<QuantParams<uint8, PerToken, Symmetric>>();
  same_as_static<QuantParams<ternary, PerGroup<32>, Symmetric>>();
  same_as_static<mxfp4>();
  same_as_static<nvfp4>();
  same_as_static<nf4_64>();
  same_as_static<nf4_64_double>();
  same_as_static<QuantParams<bnb_fp4, PerGroup<64>, Symmetric>>();
  same_as_static<QuantParams<iq4_nl, PerGroup<32>, Symmetric, float16>>();
  same_as_static<QuantParams<binary, PerToken, Symmetric>>();
}

TEST_CASE("layers take them as their activations allow") {
  const EncodedTensor reals = to_encoded(quantize_dynamic<nf4_64>(weights));
  CHECK(GroupedLinear<FloatActivations>(grouped_weights_of(reals)).weights().outputs() == outputs);
  test::raises(errc::unsupported, {"multiples of one number", "FloatActivations"},
               [&] { GroupedLinear<Int8PerGroup>{grouped_weights_of(reals)}; });
}

TEST_CASE("encoded tensors without inputs or outputs are weights in groups, too") {
  for (const Shape& shape : {Shape{3, 0}, Shape{0, 4}, Shape{0, 0}}) {
    const auto e = to_encoded(quantize_dynamic<Nibbles>(ConstTensorView(nullptr, shape)));
    const GroupedWeights got = grouped_weights_of(e);
    CHECK(got.outputs() == shape[0]);
    CHECK(got.inputs() == shape[1]);
  }
}

TEST_CASE("schemes that weights in groups do not have are refused, with those that they have") {
  const auto of = []<class Params>(const Params*, std::initializer_list<const char*> parts) {
    const EncodedTensor e = to_encoded(quantize_dynamic<Params>(weights));
    test::raises(errc::unsupported, parts, [&] { (void)grouped_weights_of(e); });
  };
  of(static_cast<mxfp8_e4m3*>(nullptr),
     {"grouped_weights_of", "int2, int3", "nf4", "got float8_e4m3fn per_group(32, axis -1)"});
  using Wide = QuantParams<int16, PerGroup<32>, Symmetric>;
  of(static_cast<Wide*>(nullptr), {"iq4_nl", "got int16 per_group"});
  test::raises(errc::unsupported, {"expected a scheme of type nf4,", "got uint4"}, [] {
    (void)grouped_weights_of<TypeList<nf4>>(to_encoded(quantize_dynamic<Nibbles>(weights)));
  });
}

TEST_CASE("parts of groups that do not fit each other are refused before they are read") {
  refuse(errc::shape_mismatch, {"bytes of codes"},
         [](EncodedTensor& t) { t.shape = Shape{outputs, 89}; });
  refuse(errc::shape_mismatch, {"scales", "111"}, [](EncodedTensor& t) { t.spec.group_size = 64; });
  refuse(errc::bad_group_size, {"group_size"}, [](EncodedTensor& t) { t.spec.group_size = 0; });
  refuse(errc::bad_argument, {"zero points"}, [](EncodedTensor& t) {
    t.zero_points = ZeroPoints<uint8>(std::vector<std::int32_t>(3 * outputs, 4));
  });
  refuse(errc::shape_mismatch, {"zero points", "got 0"},
         [](EncodedTensor& t) { t.zero_points = {}; });
  // Layers ask for two axes, as of static types.
  refuse(errc::shape_mismatch, {"[outputs, inputs]", "[111, 2, 15]"}, [](EncodedTensor& t) {
    t.shape = Shape{111, 2, 15};
    t.spec.group_size = 30;
    t.zero_points = ZeroPoints<uint4>(std::vector<std::int32_t>(222, 4));
    t.scales = Scales<float16>(std::vector<std::uint16_t>(222, 0x3c00));
  });
}
