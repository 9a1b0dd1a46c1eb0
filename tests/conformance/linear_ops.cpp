// SPDX-License-Identifier: MIT
// MatMulInteger, QLinearMatMul, ConvInteger and QLinearConv.

#include "elements.hpp"

#include <tq/linear/conv2d.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/matmul_requantized.hpp>
#include <tq/linear/output/output_stage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

namespace {

using tq::ConvGeometry;
using tq::OutputStage;
using tq::PackedFilters;
using tq::PackedWeights;
using tq::Shape;
using tq::TensorView;

// Calls f with a vector of the codes of a tensor, int8 or uint8. Throws: Skip.
template <class F>
void with_codes(const Tensor& t, F&& f) {
  if (t.dtype == DType::u8) f(tq::io::values<std::uint8_t>(t));
  else if (t.dtype == DType::i8) f(tq::io::values<std::int8_t>(t));
  else throw Skip{"codes of other types than int8 and uint8 are not built yet"};
}

// The numbers of input `i`, none where there is no such input.
std::vector<std::int32_t> numbers(const Case& c, std::size_t i) {
  return i < c.inputs.size() ? zero_points_of(c.input(i)) : std::vector<std::int32_t>{};
}
std::int32_t one_number(const Case& c, std::size_t i) {
  const std::vector<std::int32_t> all = numbers(c, i);
  if (all.size() > 1)
    throw std::runtime_error("expected one number, got " + std::to_string(all.size()));
  return all.empty() ? 0 : all[0];
}

// Matrices one behind the other: [matrices, rows, columns].
struct Matrices {
  std::size_t count, rows, columns;
  explicit Matrices(const Tensor& t) {
    const std::size_t rank = t.shape.size();
    if (rank < 2) throw Skip{"vectors are not built yet"};
    count = 1;
    for (std::size_t i = 0; i + 2 < rank; ++i) count *= t.shape[i];
    rows = t.shape[rank - 2];
    columns = t.shape[rank - 1];
  }
};

// Calls multiply(x, weights, i) for matrix i of each of two tensors: a view of codes, and what b is
// packed to.
template <class F>
void for_each_product(const Tensor& a, const Tensor& b, std::span<const std::int32_t> b_zero_points,
                      F&& multiply) {
  const Matrices left(a), right(b);
  if (left.count != right.count && right.count != 1)
    throw Skip{"broadcast matrices are not built yet"};
  with_codes(a, [&]<class X>(const std::vector<X>& x) {
    with_codes(b, [&]<class W>(const std::vector<W>& w) {
      for (std::size_t i = 0; i < left.count; ++i) {
        const W* from = w.data() + (right.count == 1 ? 0 : i) * right.rows * right.columns;
        const PackedWeights packed(
            TensorView<const W>(from, Shape{right.columns, right.rows},
                                tq::Strides{1, static_cast<std::ptrdiff_t>(right.columns)}),
            b_zero_points);
        multiply(TensorView<const X>(x.data() + i * left.rows * left.columns,
                                     Shape{left.rows, left.columns}),
                 packed, i);
      }
    });
  });
}

// The factor of each output: scale of x * scale of w / scale of y.
std::vector<double> factors(const Case& c, std::size_t x, std::size_t w, std::size_t y) {
  const std::vector<float> x_scale = c.input(x).floats(), y_scale = c.input(y).floats();
  if (x_scale.size() != 1 || y_scale.size() != 1) throw Skip{"scales of rows are not built yet"};
  std::vector<double> out;
  for (const float s : c.input(w).floats())
    out.push_back(static_cast<double>(x_scale[0]) * static_cast<double>(s) /
                  static_cast<double>(y_scale[0]));
  return out;
}

template <class Code>
OutputStage<> stage_of(std::span<const double> factors, std::int32_t zero_point,
                       std::span<const std::int32_t> bias = {}) {
  using limits = std::numeric_limits<Code>;
  return OutputStage<>(factors, zero_point, limits::min(), limits::max(), bias);
}

ConvGeometry geometry_of(const Case& c) {
  using Numbers = std::vector<std::size_t>;
  if (c.attribute<std::string>("auto_pad", "NOTSET") != "NOTSET")
    throw Skip{"auto_pad is not built yet"};
  const Numbers strides = c.attribute("strides", Numbers{1, 1}),
                dilations = c.attribute("dilations", Numbers{1, 1}),
                pads = c.attribute("pads", Numbers{0, 0, 0, 0});
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4)
    throw Skip{"convolutions of other than two dimensions are not built yet"};
  return {{strides[0], strides[1]},
          {dilations[0], dilations[1]},
          {pads[0], pads[1]},
          {pads[2], pads[3]}};
}

// Calls convolve(x, filters) for inputs `x`, `w`.
template <class F>
void with_filters(const Case& c, std::size_t x, std::size_t w,
                  std::span<const std::int32_t> zero_points, F&& convolve) {
  const Tensor image = c.input(x).load(), weights = c.input(w).load();
  const auto groups = c.attribute<std::size_t>("group", 1);
  with_codes(image, [&]<class X>(const std::vector<X>& codes) {
    with_codes(weights, [&]<class W>(const std::vector<W>& filters) {
      convolve(TensorView<const X>(codes.data(), shape_of(image)),
               PackedFilters(TensorView<const W>(filters.data(), shape_of(weights)), groups,
                             zero_points));
    });
  });
}

}  // namespace

void matmul_integer(const Case& c) {
  const Tensor expected = c.outputs.at(0).load();
  const std::vector<std::int32_t> a_zero_points = numbers(c, 2), b_zero_points = numbers(c, 3);
  const Matrices shape(expected);
  std::vector<std::int32_t> y(shape.count * shape.rows * shape.columns);
  for_each_product(c.input(0).load(), c.input(1).load(), b_zero_points,
                   [&](const auto& x, const PackedWeights& w, std::size_t i) {
                     tq::matmul_integer(
                         x, a_zero_points, w,
                         TensorView<std::int32_t>(y.data() + i * shape.rows * shape.columns,
                                                  Shape{shape.rows, shape.columns}));
                   });
  require("Y", within(c.tolerance, expected, code_tensor(expected.shape, y), "int32"));
}

void qlinear_matmul(const Case& c) {
  const Tensor expected = c.outputs.at(0).load();
  const std::vector<std::int32_t> a_zero_points = numbers(c, 2), b_zero_points = numbers(c, 5);
  const std::vector<double> by = factors(c, 1, 4, 6);
  const std::int32_t zero_point = one_number(c, 7);
  const Matrices shape(expected);
  with_codes(expected, [&]<class Y>(std::vector<Y> y) {
    std::fill(y.begin(), y.end(), Y{});
    for_each_product(c.input(0).load(), c.input(3).load(), b_zero_points,
                     [&](const auto& x, const PackedWeights& w, std::size_t i) {
                       tq::matmul_requantized(
                           x, a_zero_points, w, stage_of<Y>(by, zero_point),
                           TensorView<Y>(y.data() + i * shape.rows * shape.columns,
                                         Shape{shape.rows, shape.columns}));
                     });
    require("y",
            within(c.tolerance, expected, code_tensor(expected.shape, y), c.outputs.at(0).dtype));
  });
}

void conv_integer(const Case& c) {
  const Tensor expected = c.outputs.at(0).load();
  std::vector<std::int32_t> y(tq::io::tensor_shape(expected).size());
  with_filters(c, 0, 1, numbers(c, 3), [&](const auto& x, const PackedFilters& filters) {
    tq::conv2d_integer(x, one_number(c, 2), filters, geometry_of(c),
                       TensorView<std::int32_t>(y.data(), shape_of(expected)));
  });
  require("y", within(c.tolerance, expected, code_tensor(expected.shape, y), "int32"));
}

void qlinear_conv(const Case& c) {
  const Tensor expected = c.outputs.at(0).load();
  const std::vector<double> all = factors(c, 1, 4, 6);
  const std::vector<std::int32_t> bias = numbers(c, 8);
  with_codes(expected, [&]<class Y>(std::vector<Y> y) {
    std::fill(y.begin(), y.end(), Y{});
    with_filters(c, 0, 3, numbers(c, 5), [&](const auto& x, const PackedFilters& filters) {
      tq::conv2d_requantized<tq::arch::native>(x, one_number(c, 2), filters, geometry_of(c),
                                               stage_of<Y>(all, one_number(c, 7), bias),
                                               TensorView<Y>(y.data(), shape_of(expected)));
    });
    require("y",
            within(c.tolerance, expected, code_tensor(expected.shape, y), c.outputs.at(0).dtype));
  });
}

}  // namespace conformance
