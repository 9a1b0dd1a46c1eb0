// SPDX-License-Identifier: MIT
// DequantizeLinear.

#include "onnx.hpp"

#include <tq/core/make_params.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>

namespace conformance {

namespace {

// float32 results as the output type stores them: the product is one of float32, then it is cast.
Tensor cast(const std::vector<float>& values, const Tensor& expected, const std::string& type) {
  const WithOverflow<tq::NonSaturate> numerics;
  if (type == "float16")
    return code_tensor_like(expected, tq::cast_to<tq::float16>(values, numerics));
  if (type == "bfloat16")
    return code_tensor_like(expected, tq::cast_to<tq::bfloat16>(values, numerics));
  return tq::io::from_float32("y", expected.shape, values);
}

template <class Params>
void check_dequantize(const Case& c, const tq::Shape& shape, const Params& params) {
  using T = typename Params::type;
  using code_type = typename Params::code_type;
  const TensorFile &x = c.input(0), &y = c.output("y");
  const std::vector<code_type> codes = codes_of<T>(x.load());
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

// The same parameters with scales of float16, as the case stores them.
template <class T, class G, class S>
auto with_stored_scales(const tq::QuantParams<T, G, S>& params, const Case& c) {
  using Params = tq::QuantParams<T, G, S, tq::float16>;
  const tq::Scales<tq::float16> scales(codes_of<tq::float16>(c.input(1).load()));
  if constexpr (Params::has_zero_point)
    return tq::make_params<Params>(
        params.granularity(), scales,
        std::vector<std::int32_t>(params.zero_points().begin(), params.zero_points().end()));
  else return tq::make_params<Params>(params.granularity(), scales);
}

}  // namespace

void dequantize_linear(const Case& c) {
  const std::string type = c.attribute("output_dtype", c.input(1).dtype);
  if (type != c.output("y").dtype)
    throw std::runtime_error("expected an output of type " + type + ", got " + c.output("y").dtype);
  if (type != "float32" && type != "float16" && type != "bfloat16")
    throw Skip{"an output of type " + type + " is not built yet"};
  const std::string& scale = c.input(1).dtype;
  if (scale != "float32" && scale != "float16" && scale != "bfloat16")
    throw Skip{"scales of type " + scale + " are not built yet"};
  const tq::Shape shape = shape_of(c.input(0).load());
  const auto run = [&]<class T>(std::type_identity<T>) {
    with_onnx_params<T>(c, shape, OnnxOperands(c), [&](const auto& params) {
      check_dequantize(c, shape, params);
      if constexpr (std::is_same_v<T, tq::uint8> || std::is_same_v<T, tq::float8_e4m3fn>)
        if (scale == "float16") check_dequantize(c, shape, with_stored_scales(params, c));
    });
  };
  const std::string& type_of_x = c.input(0).dtype;
  if (type_of_x.starts_with("float")) with_element(OnnxFloats{}, type_of_x, run);
  else if (type_of_x == tq::int32::name) run(std::type_identity<tq::int32>{});  // biases
  else with_element(OnnxIntegers{}, type_of_x, run);
}

}  // namespace conformance
