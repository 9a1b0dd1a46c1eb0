// SPDX-License-Identifier: MIT
// QuantizeLinear and DynamicQuantizeLinear.

#include "onnx.hpp"

#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <cmath>
#include <span>

namespace conformance {

namespace {

// The type of the division: `precision`, else that of the scale (opset 23; before, x and scale have
// one type, or x is int32).
std::string precision(const Case& c) { return c.attribute("precision", c.input(1).dtype); }

// x as float32.
std::vector<float> dividend(const Case& c) {
  const TensorFile& x = c.input(0);
  if (x.dtype == "float32" || x.dtype == "float16" || x.dtype == "bfloat16") return x.floats();
  if (x.dtype != "int32") throw Skip{"x of type " + x.dtype + " is not built yet"};
  std::vector<float> out;
  for (const std::int64_t v : integers(x.load())) {
    if (std::abs(v) > std::int64_t{1} << 24) throw Skip{"int32 x beyond 2^24 is not built yet"};
    out.push_back(static_cast<float>(v));
  }
  return out;
}

template <class Params, class N>
void check_quantize(const Case& c, tq::ConstTensorView x, const Params& params, const N& numerics) {
  using T = typename Params::type;
  const TensorFile& y = c.output("y");
  const Tensor expected = y.load();

  std::vector<typename Params::code_type> codes(x.size());
  tq::quantize(x, params, codes, numerics);
  require("y", within(c.tolerance, expected, code_tensor(expected.shape, codes), y.dtype));

  // Packing on the way and packing afterwards are the same, and what the standard stores.
  std::vector<std::byte> packed(tq::LowFirst::bytes_for<T>(x.size()));
  tq::pack<T>(codes, packed);
  const auto at_once = tq::quantize(x, params, numerics);
  require("y, packed while quantizing", exact_bytes(packed, at_once.bytes()));
  if (!y.packed_file.empty()) require("y, packed", exact_bytes(y.packed_bytes(), packed));
}

using DividesInFloat16 = tq::Numerics<tq::NearestEven, tq::DivideIn<tq::float16::format>>;

template <class List, class N>
void quantize_to_integers(const Case& c, List list, const std::string& type, const N& numerics) {
  with_element(list, type, [&]<class T>(std::type_identity<T>) {
    const std::vector<float> x = dividend(c);
    const tq::Shape shape = shape_of(c.input(0).load());
    with_onnx_params<T>(c, shape, OnnxOperands(c), [&](const auto& params) {
      check_quantize(c, tq::ConstTensorView(x.data(), shape), params, numerics);
    });
  });
}

void quantize_to_floats(const Case& c, const std::string& type) {
  with_element(OnnxFloats{}, type, [&]<class T>(std::type_identity<T>) {
    const OnnxOperands operands(c);
    std::vector<float> x = dividend(c);
    // ONNX adds the zero point of float4, which takes the sign of -0. tq keeps it, as all casts do.
    if (type == "float4_e2m1fn" && operands.has_zero_point)
      for (float& v : x) v += 0.0f;
    const tq::Shape shape = shape_of(c.input(0).load());
    with_onnx_params<T>(c, shape, operands, [&](const auto& params) {
      with_saturate(c, [&](const auto& numerics) {
        check_quantize(c, tq::ConstTensorView(x.data(), shape), params, numerics);
      });
    });
  });
}

}  // namespace

void quantize_linear(const Case& c) {
  const std::string type =
      c.inputs.size() > 2 ? c.input(2).dtype : c.attribute<std::string>("output_dtype", "uint8");
  if (type != c.output("y").dtype)
    throw std::runtime_error("expected an output of type " + type + ", got " + c.output("y").dtype);
  const std::string division = precision(c);
  if (type.starts_with("float")) {
    if (division != "float32") throw Skip{"division in " + division + " is not built yet"};
    quantize_to_floats(c, type);
  } else if (division == "float32") {
    quantize_to_integers(c, OnnxIntegers{}, type, tq::numerics::onnx{});
  } else if (division == "float16" && c.input(0).dtype == division &&
             c.input(1).dtype == division) {
    quantize_to_integers(c, OnnxIntegers{}, type, DividesInFloat16{});
  } else {
    throw Skip{"division in " + division + " is not built yet"};
  }
}

void dynamic_quantize_linear(const Case& c) {
  using Params = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  if (c.input(0).dtype != "float32") throw Skip{"x of type " + c.input(0).dtype};
  const std::vector<float> x = c.input(0).floats();
  const tq::Shape shape = shape_of(c.input(0).load());
  const auto q = tq::quantize_dynamic<Params>(tq::ConstTensorView(x.data(), shape));

  const Tensor y = c.output("y").load(), scale = c.output("y_scale").load(),
               zero = c.output("y_zero_point").load();
  const std::uint8_t zero_point = static_cast<std::uint8_t>(q.params().zero_points()[0]);
  require("y_scale",
          within(c.tolerance, scale,
                 tq::io::from_values("y_scale", scale.shape, q.params().scales().first(1))));
  require("y_zero_point",
          within(c.tolerance, zero,
                 tq::io::from_values("y_zero_point", zero.shape,
                                     std::span<const std::uint8_t>(&zero_point, 1))));
  require("y", within(c.tolerance, y, tq::io::from_values("y", y.shape, q.codes())));
}

}  // namespace conformance
