// SPDX-License-Identifier: MIT
// DequantizeLinear.

#include "onnx.hpp"

#include <tq/ops/dequantize.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>

namespace conformance {

namespace {

// float32 results as the output type stores them: the product is one of float32, then it is cast.
Tensor cast(const std::vector<float>& values, const Tensor& expected, const std::string& type) {
  const DType to = type == "float16" ? DType::f16 : type == "bfloat16" ? DType::bf16 : DType::f32;
  Tensor out = tq::io::from_float32("y", expected.shape, values, to);
  if (expected.dtype == DType::u16) out.dtype = DType::u16;  // stored as codes
  return out;
}

template <class Params>
void check_dequantize(const Case& c, const tq::Shape& shape, const Params& params) {
  using T = typename Params::type;
  using code_type = typename Params::code_type;
  const TensorFile &x = c.input(0), &y = c.output("y");
  const auto codes = tq::io::values<code_type>(x.load());
  const Tensor expected = y.load();

  std::vector<float> values(codes.size());
  tq::dequantize(tq::TensorView<const code_type>(codes.data(), shape), params,
                 tq::TensorView<float>(values.data(), shape));
  require("y", within(c.tolerance, expected, cast(values, expected, y.dtype), y.dtype));

  // The same from packed codes, those of the standard where the case has them.
  tq::QuantizedTensor<Params> q(shape, params);
  tq::pack<T>(codes, q.bytes());
  if (!x.packed_file.empty()) {
    const std::vector<std::byte> packed = x.packed_bytes();
    require("x, packed", exact_bytes(packed, q.bytes()));
    std::vector<code_type> unpacked(codes.size());
    tq::unpack<T>(packed, unpacked);
    require("x, unpacked",
            exact(code_tensor({codes.size()}, codes), code_tensor({codes.size()}, unpacked)));
  }
  require("y, from packed codes", exact(cast(values, expected, y.dtype),
                                        cast(tq::dequantize(q), expected, y.dtype), y.dtype));
}

}  // namespace

void dequantize_linear(const Case& c) {
  const std::string type = c.attribute("output_dtype", c.input(1).dtype);
  if (type != c.output("y").dtype)
    throw std::runtime_error("expected an output of type " + type + ", got " + c.output("y").dtype);
  with_element(OnnxIntegers{}, c.input(0).dtype, [&]<class T>(std::type_identity<T>) {
    if (type != "float32" && type != "float16" && type != "bfloat16")
      throw Skip{"an output of type " + type + " is not built yet"};
    const std::string& scale = c.input(1).dtype;
    if (scale != "float32" && scale != "float16" && scale != "bfloat16")
      throw Skip{"scales of type " + scale + " are not built yet"};
    const tq::Shape shape = shape_of(c.input(0).load());
    with_onnx_params<T>(c, shape, OnnxOperands(c),
                        [&](const auto& params) { check_dequantize(c, shape, params); });
  });
}

}  // namespace conformance
