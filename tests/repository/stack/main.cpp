// SPDX-License-Identifier: MIT
// Operations, casts and layers; observers.cpp has what looks at tensors.
#include <tq/linear/quantized_linear.hpp>
#include <tq/tq.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "stack.hpp"

namespace {

using stack::limit;
using stack::Shape;
using stack::Stack;
using stack::Tensors;

// All that goes between reals T and codes.
template <class Params, class T>
void check_reals(Stack& stack, const std::string& name, const Shape& s) {
  Tensors<T> t(s.size());
  const auto params = tq::quantize_dynamic<Params>(t.x(s)).params();
  std::vector<std::byte> bytes(tq::LowFirst::bytes_for<typename Params::type>(s.size()));
  const std::span<const std::byte> codes(bytes);
  const std::string of = " of " + name + " " + tq::to_string(s);
  stack.check("quantize" + of, [&] { tq::quantize(t.x(s), params, std::span(bytes)); });
  stack.check("quantize, turned," + of,
              [&] { tq::quantize(t.turned_x(s), params, std::span(bytes)); });
  stack.check("dequantize" + of, [&] { tq::dequantize(codes, params, t.y(s)); });
  stack.check("dequantize, turned," + of, [&] { tq::dequantize(codes, params, t.turned_y(s)); });
  stack.check("fake_quantize" + of, [&] { tq::fake_quantize(t.x(s), params, t.y(s)); });
  stack.check("fake_quantize, turned," + of,
              [&] { tq::fake_quantize(t.turned_x(s), params, t.turned_y(s)); });
  stack.check("quantize_dynamic" + of, [&] { (void)tq::quantize_dynamic<Params>(t.x(s)); });
  stack.check("quantize_dynamic, turned," + of,
              [&] { (void)tq::quantize_dynamic<Params>(t.turned_x(s)); });
  if constexpr (!tq::CodedParams<Params>)
    stack.check("fake_quantize_backward" + of,
                [&] { (void)tq::fake_quantize_backward(t.turned_x(s), params, t.x(s), t.y(s)); });
}

// So many rows that what is written passes the cache by.
template <class Params>
void check_streaming(Stack& stack) {
  constexpr std::size_t columns = 5000;
  const Shape s{tq::driver::this_machine().stream_from / (4 * columns) + 1, columns};
  Tensors<float> t(s.size());
  const auto params = tq::quantize_dynamic<Params>(t.x(Shape{9, columns})).params();
  std::vector<std::byte> bytes(tq::LowFirst::bytes_for<typename Params::type>(s.size()));
  const std::span<const std::byte> codes(bytes);
  stack.check("quantize to memory", [&] { tq::quantize(t.x(s), params, std::span(bytes)); });
  stack.check("dequantize to memory", [&] { tq::dequantize(codes, params, t.y(s)); });
  stack.check("fake_quantize to memory", [&] { tq::fake_quantize(t.x(s), params, t.y(s)); });
}

// Codes of single numbers.
template <class T>
void check_cast(Stack& stack, const std::string& name) {
  constexpr std::size_t n = 5000;
  Tensors<float> t(n);
  const std::vector<double> wide(t.in.begin(), t.in.end());
  std::vector<typename T::code_type> codes(n);
  const std::span<typename T::code_type> out(codes);
  stack.check("cast_to " + name, [&] { tq::cast_to<T>(std::span<const float>(t.in), out); });
  stack.check("cast_to " + name + " of double",
              [&] { tq::cast_to<T>(std::span<const double>(wide), out); });
  stack.check("cast_from " + name, [&] {
    tq::cast_from<T>(std::span<const typename T::code_type>(codes), std::span(t.out));
  });
}

void check_layer(Stack& stack) {
  using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  const Shape s{33, 300};
  Tensors<float> t(s.size());
  const auto weights = tq::quantize_dynamic<Weights>(t.x(Shape{10, 300}));
  stack.check("QuantizedLinear", [&] { (void)tq::QuantizedLinear(weights); });
  const tq::QuantizedLinear layer(weights);
  stack.check("QuantizedLinear::forward", [&] { layer.forward(t.x(s), t.y(Shape{33, 10})); });
}

}  // namespace

int main() {
  Stack stack;
  const std::size_t known = stack.of([] {
    volatile unsigned char some[limit + 4096];
    for (volatile unsigned char& byte : some) byte = 0;
  });
  if (known <= limit) {
    std::printf("expected more than %zu bytes of stack, got %zu\n", limit, known);
    return 1;
  }
  using Rows = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Asymmetric>;
  using Columns = tq::QuantParams<tq::uint4, tq::PerChannel<1>, tq::Asymmetric, tq::float8_e4m3fn>;
  using Groups = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric, tq::float16>;
  for (const Shape& s : {Shape{300, 9}, Shape{9, 300}, Shape{17, 5000}, Shape{64, 32}}) {
    check_reals<Rows, tq::float16>(stack, "int8 rows", s);
    check_reals<Columns, float>(stack, "uint4 columns", s);
    check_reals<Groups, double>(stack, "int4 groups", s);
  }
  check_streaming<Columns>(stack);
  check_cast<tq::float16>(stack, "float16");
  check_cast<tq::bfloat16>(stack, "bfloat16");
  check_cast<tq::float8_e4m3fn>(stack, "float8_e4m3fn");
  check_layer(stack);
  check_observers(stack);
  return stack.failed() == 0 ? 0 : 1;
}
