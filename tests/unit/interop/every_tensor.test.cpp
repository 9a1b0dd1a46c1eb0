// SPDX-License-Identifier: MIT
// Every function that reads or writes tensors, with tensors of every kind: the bits are those of
// the call with dense views of float32.
#include <tq/core/as_tensor.hpp>
#include <tq/interop/eigen.hpp>
#include <tq/linear/float_linear.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/quantized_conv1d.hpp>
#include <tq/linear/quantized_embedding.hpp>
#include <tq/linear/quantized_linear.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/copy.hpp>
#include <tq/ops/tensor_scale.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_step.hpp>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/tensor_types.hpp"

namespace {

using tq::TensorView;

constexpr std::size_t rows = 4, columns = 32;
constexpr tq::Shape matrix_shape{rows, columns};

using P8 = tq::QuantParams<tq::int8, tq::PerGroup<16>, tq::Symmetric>;
using P4 = tq::QuantParams<tq::int4, tq::PerGroup<16>, tq::Symmetric>;
using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using Nvfp4 = tq::QuantParams<tq::float4_e2m1fn, tq::PerGroup<16>, tq::Symmetric,
                              tq::TwoLevel<tq::float8_e4m3fn>>;

// Kinds of tensors: each has elements of its own, and get() is what a function gets.
template <class T>
struct Vector {
  static constexpr bool is_flat = true;
  std::vector<T> memory = std::vector<T>(rows * columns);
  auto& get() { return memory; }
};
template <class T>
struct RowMajor {
  static constexpr bool is_flat = false;
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> memory{rows, columns};
  auto& get() { return memory; }
};
template <class T>
struct ColumnMajor {
  static constexpr bool is_flat = false;
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> memory{rows, columns};
  auto& get() { return memory; }
};
template <class T>
struct Strided {
  static constexpr bool is_flat = false;
  std::vector<T> memory = std::vector<T>(2 * rows * columns);
  TensorView<T> get() {
    return {memory.data() + memory.size() - 1,
            matrix_shape,
            {-static_cast<std::ptrdiff_t>(2 * columns), -2}};
  }
};
template <class T>
struct Span {
  static constexpr bool is_flat = false;
  std::vector<T> memory = std::vector<T>(rows * columns);
  tensor_types::Mdspan<T, 2> get() { return {memory.data(), {rows, columns}, {1, rows}}; }
};
template <class T>
struct Own {
  static constexpr bool is_flat = false;
  somebody::Matrix<T> memory{std::vector<T>(rows * columns), rows, columns};
  auto& get() { return memory; }
};
template <class T>
struct Dense {
  static constexpr bool is_flat = false;
  std::vector<T> memory = std::vector<T>(rows * columns);
  TensorView<T> get() { return {memory.data(), matrix_shape}; }
};

// The elements in row-major order.
template <class X>
auto elements(X&& x) {
  const auto view = tq::as_tensor(x);
  using T = std::remove_const_t<typename std::remove_cvref_t<decltype(view)>::element_type>;
  std::vector<T> out(view.size());
  const bool is_flat = view.shape().rank() == 1;
  const std::size_t width = view.shape()[is_flat ? 0 : 1];
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto r = static_cast<std::ptrdiff_t>(i / width),
               c = static_cast<std::ptrdiff_t>(i % width);
    out[i] = view.data()[is_flat ? c * view.stride(0) : r * view.stride(0) + c * view.stride(1)];
  }
  return out;
}

// Halves have these values too.
float value(std::size_t i) {
  const auto steps = static_cast<int>(i * 37 % 251) - 125;
  return static_cast<float>(steps) / static_cast<float>(i % 3 == 0 ? 64 : 16);
}

template <class Holder>
Holder filled(std::size_t first = 0) {
  Holder h;
  const auto view = tq::as_tensor(h.get());
  using T = typename std::remove_cvref_t<decltype(view)>::element_type;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const auto i = static_cast<std::ptrdiff_t>(r), j = static_cast<std::ptrdiff_t>(c);
      const std::size_t n = r * columns + c;
      view.data()[Holder::is_flat ? static_cast<std::ptrdiff_t>(n)
                                  : i * view.stride(0) + j * view.stride(1)] =
          static_cast<T>(value(first + n));
    }
  return h;
}

// Writes to a tensor of the kind and to a dense one, and compares.
template <template <class> class Kind, class T, class F, class G>
void same_output(F&& write, G&& write_dense) {
  Kind<T> out;
  decltype(auto) to = out.get();
  write(to);
  std::vector<T> expected(rows * columns);
  write_dense(
      TensorView<T>(expected.data(), Kind<T>::is_flat ? tq::Shape{rows * columns} : matrix_shape));
  CHECK(elements(out.get()) == expected);
}

// Inputs of type In, and outputs, of the kind.
template <template <class> class Kind, class In>
void check_functions() {
  Kind<In> holder = filled<Kind<In>>(), gradient_holder = filled<Kind<In>>(7);
  decltype(auto) x = holder.get();
  decltype(auto) gy = gradient_holder.get();
  std::vector<float> floats(rows * columns), gradients(rows * columns);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    floats[i] = value(i);
    gradients[i] = value(i + 7);
  }
  const tq::Shape shape = Kind<In>::is_flat ? tq::Shape{rows * columns} : matrix_shape;
  const tq::ConstTensorView dense(floats.data(), shape), dense_gy(gradients.data(), shape);

  // Functions that read.
  const P8 params = tq::calibrate<P8>(x);
  CHECK(params == tq::calibrate<P8>(dense));
  CHECK(tq::calibrate<P8, tq::MinMax>(x, tq::MinMaxCalibrator{}) == params);
  tq::Observer<tq::MinMax, tq::PerGroup<16>> observer;
  observer.observe(x);
  CHECK(tq::calibrate<P8>(observer) == params);
  CHECK(tq::tensor_scale<Nvfp4>(x) == tq::tensor_scale<Nvfp4>(dense));
  CHECK(tq::compare(x, dense).max_abs == 0);
  CHECK(tq::compare(dense_gy, x).mse == tq::compare(dense_gy, dense).mse);
  const tq::QuantizedTensor<P8> q = tq::quantize(x, params);
  const tq::QuantizedTensor<P8> expected = tq::quantize(dense, params);
  CHECK(std::ranges::equal(q.codes(), expected.codes()));
  CHECK(q.shape() == shape);
  CHECK(std::ranges::equal(tq::quantize<tq::HighFirst>(x, params).bytes(), expected.bytes()));
  CHECK(std::ranges::equal(tq::quantize(x, params, tq::on<tq::default_backend>).bytes(),
                           expected.bytes()));
  CHECK(std::ranges::equal(tq::quantize_dynamic<P8>(x).codes(), expected.codes()));
  const P4 params4 = tq::calibrate<P4>(dense);
  std::vector<std::byte> bytes(floats.size() / 2);
  tq::quantize(x, params4, bytes);
  CHECK(std::ranges::equal(bytes, tq::quantize(dense, params4).bytes()));
  tq::QuantizedTensor<P8> again(shape, params);
  tq::quantize(x, again);
  CHECK(std::ranges::equal(again.codes(), expected.codes()));
  CHECK(elements(tq::fake_quantize(x, params)) == [&] {
    using Result = tq::element_of<decltype(tq::fake_quantize(x, params))>;
    std::vector<Result> wanted;
    for (const float v : tq::fake_quantize(dense, params)) wanted.push_back(static_cast<Result>(v));
    return wanted;
  }());
  CHECK(tq::cast_to<tq::float8_e4m3fn>(x) == tq::cast_to<tq::float8_e4m3fn>(dense));
  CHECK(tq::cast_to<tq::int8>(x) == tq::cast_to<tq::int8>(dense));
  const tq::QuantSpec spec = tq::spec_of(params);
  CHECK(std::ranges::equal(tq::encode(x, spec).codes.span(), tq::encode(dense, spec).codes.span()));

  // Functions that write codes.
  using Code = std::int8_t;
  same_output<Kind, Code>([&](auto&& out) { tq::quantize(x, params, out); },
                          [&](auto&& out) { tq::quantize(dense, params, out); });
  std::vector<float> scales(params.scales().size());
  same_output<Kind, Code>(
      [&](auto&& out) { tq::quantize_dynamic<P8>(x, {.codes = out, .scales = scales}); },
      [&](auto&& out) { tq::quantize_dynamic<P8>(dense, {.codes = out, .scales = scales}); });
  same_output<Kind, std::uint8_t>([&](auto&& out) { tq::cast_to<tq::float8_e4m3fn>(x, out); },
                                  [&](auto&& out) { tq::cast_to<tq::float8_e4m3fn>(dense, out); });
  same_output<Kind, Code>([&](auto&& out) { tq::cast_to<tq::int8>(x, out); },
                          [&](auto&& out) { tq::cast_to<tq::int8>(dense, out); });

  // Functions that write real numbers.
  same_output<Kind, float>([&](auto&& out) { tq::copy(x, out); },
                           [&](auto&& out) { tq::copy(dense, out); });
  same_output<Kind, double>([&](auto&& out) { tq::copy(x, out); },
                            [&](auto&& out) { tq::copy(dense, out); });
  same_output<Kind, float>([&](auto&& out) { tq::fake_quantize(x, params, out); },
                           [&](auto&& out) { tq::fake_quantize(dense, params, out); });
  same_output<Kind, float>([&](auto&& out) { tq::dequantize(q, out); },
                           [&](auto&& out) { tq::dequantize(expected, out); });
  same_output<Kind, double>([&](auto&& out) { tq::dequantize(q, out); },
                            [&](auto&& out) { tq::dequantize(expected, out); });
  same_output<Kind, float>(
      [&](auto&& out) { (void)tq::fake_quantize_backward(x, params, gy, out); },
      [&](auto&& out) { (void)tq::fake_quantize_backward(dense, params, dense_gy, out); });
  using Layer = tq::FakeQuantize<P8, tq::MinMax, tq::LearnedStep<>>;
  Layer layer, twin;
  same_output<Kind, float>([&](auto&& out) { layer.forward(x, out); },
                           [&](auto&& out) { twin.forward(dense, out); });
  same_output<Kind, float>([&](auto&& out) { std::as_const(layer).forward(x, out); },
                           [&](auto&& out) { std::as_const(twin).forward(dense, out); });
  same_output<Kind, float>([&](auto&& out) { (void)layer.backward(x, gy, out); },
                           [&](auto&& out) { (void)twin.backward(dense, dense_gy, out); });
  CHECK(std::ranges::equal(layer.gradients(), twin.gradients()));

  // Codes that are read.
  Kind<Code> codes;
  decltype(auto) code_tensor = codes.get();
  tq::quantize(dense, params, code_tensor);
  const TensorView<const Code> codes_dense(expected.codes().data(), shape);
  CHECK(elements(tq::dequantize(code_tensor, params)) == tq::dequantize(expected));
  same_output<Kind, float>([&](auto&& out) { tq::dequantize(code_tensor, params, out); },
                           [&](auto&& out) { tq::dequantize(expected, out); });
  same_output<Kind, float>([&](auto&& out) { tq::cast_from<tq::int8>(code_tensor, out); },
                           [&](auto&& out) { tq::cast_from<tq::int8>(codes_dense, out); });

  // Layers, whose inputs have two axes.
  if constexpr (!Kind<In>::is_flat) {
    std::vector<float> memory(columns * columns);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = value(3 * i + 1);
    const auto weights = tq::as_tensor(memory, {columns, columns});
    const std::vector<float> bias(columns, 0.5f);
    const tq::QuantizedLinear<> linear(tq::quantize_dynamic<W8>(weights), bias);
    same_output<Kind, float>([&](auto&& out) { linear.forward(x, out); },
                             [&](auto&& out) { linear.forward(dense, out); });
    using A8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
    const tq::StaticActivation<A8> activation(A8(0.25f));
    const tq::QuantizedLinear<tq::StaticActivation<A8>> steady(tq::quantize_dynamic<W8>(weights),
                                                               {}, activation);
    same_output<Kind, float>([&](auto&& out) { steady.forward(code_tensor, out); },
                             [&](auto&& out) { steady.forward(codes_dense, out); });
    const tq::FloatLinear floats_linear(weights);
    same_output<Kind, float>([&](auto&& out) { floats_linear.forward(x, out); },
                             [&](auto&& out) { floats_linear.forward(dense, out); });
    CHECK(tq::FloatLinear(x).outputs() == rows);
    const tq::GroupedLinear<tq::Int8PerRow> grouped(tq::quantize_dynamic<P4>(weights), bias);
    same_output<Kind, float>([&](auto&& out) { grouped.forward(x, out); },
                             [&](auto&& out) { grouped.forward(dense, out); });
    const tq::QuantizedEmbedding<8> table(x), dense_table(dense);
    CHECK(std::ranges::equal(table.bytes(), dense_table.bytes()));
    const std::vector<int> indices{2, 0, 3, 2}, offsets{0, 1, 2, 3};
    same_output<Kind, float>([&](auto&& out) { table.gather(indices, out); },
                             [&](auto&& out) { table.gather(indices, out); });
    same_output<Kind, float>([&](auto&& out) { table.bag(indices, offsets, out); },
                             [&](auto&& out) { table.bag(indices, offsets, out); });
  }
}

}  // namespace

TEST_CASE("every function takes vectors", "[every_tensor]") { check_functions<Vector, float>(); }
TEST_CASE("every function takes Eigen matrices", "[every_tensor]") {
  check_functions<RowMajor, float>();
  check_functions<ColumnMajor, float>();
}
TEST_CASE("every function takes strided views", "[every_tensor]") {
  check_functions<Strided, float>();
}
TEST_CASE("every function takes mdspans", "[every_tensor]") { check_functions<Span, float>(); }
TEST_CASE("every function takes a type of the user", "[every_tensor]") {
  check_functions<Own, float>();
}
TEST_CASE("every function takes tensors of float16", "[every_tensor]") {
  check_functions<Dense, tq::float16>();
}

TEST_CASE("convolutions take tensors of three axes", "[every_tensor]") {
  std::vector<float> x(rows * columns), out(x.size()), expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = value(i);
  const std::vector<float> kernel(rows * rows, 0.5f);
  const tq::QuantizedConv1d<> conv(
      tq::quantize_dynamic<W8>(tq::as_tensor(kernel, {rows, rows, 1})));
  const tq::Shape shape{1, rows, columns};
  conv.forward(tq::as_tensor(x, shape), TensorView<float>(expected.data(), shape));
  const std::array<int, 3> extents{1, rows, columns}, strides{0, columns, 1};
  conv.forward(tensor_types::Mdspan<const float, 3>(x.data(), extents, strides),
               tensor_types::Mdspan<float, 3>(out.data(), extents, strides));
  CHECK(out == expected);
  const std::vector<double> wide(x.begin(), x.end());
  std::ranges::fill(out, 0.0f);
  conv.forward(tq::as_tensor(wide, shape), tq::as_tensor(out, shape));
  CHECK(out == expected);
}

TEST_CASE("biases are vectors of any kind", "[every_tensor]") {
  const Eigen::VectorXd wide = Eigen::VectorXd::LinSpaced(4, 0.5, 2.0);
  const Eigen::Matrix<std::int32_t, 1, 3> steps(1, 2, 3);
  CHECK(std::ranges::equal(tq::Bias(wide).floats(), std::vector<float>{0.5f, 1.0f, 1.5f, 2.0f}));
  CHECK(std::ranges::equal(tq::Bias(wide * 2).floats(), std::vector<float>{1, 2, 3, 4}));
  CHECK(std::ranges::equal(tq::Bias(steps).integers(), std::vector<std::int32_t>{1, 2, 3}));
  Eigen::MatrixXf matrix(2, 2);
  test::raises(tq::errc::shape_mismatch, {"tq::Bias", "[2, 2]"}, [&] { tq::Bias{matrix}; });
}
