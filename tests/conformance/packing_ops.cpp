// SPDX-License-Identifier: MIT
// Checkpoint layouts: GPTQ, AWQ, compressed-tensors, MatMulNBits. Words are read, and written back.
//
// Codes, zero points and words are integers, so they must be equal whatever the tolerance says of
// the weights.

#include "elements.hpp"

#include <tq/layouts/awq.hpp>
#include <tq/layouts/compressed_tensors.hpp>
#include <tq/layouts/gptq.hpp>
#include <tq/layouts/matmul_nbits.hpp>
#include <tq/linear/grouped_linear.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace conformance {

namespace {

tq::GroupedShape grouped_shape(const Case& c, const char* k, const char* n, const char* group) {
  return {c.attributes.at(k).get<std::size_t>(), c.attributes.at(n).get<std::size_t>(),
          c.attributes.at(group).get<std::size_t>()};
}

// Calls f(std::type_identity<T>) for the type of the case's width. Throws: Skip.
template <class List, class F>
void with_bits(List list, const Case& c, F&& f) {
  const int bits = c.attributes.at("bits").get<int>();
  const auto same = [&]<class T>(std::type_identity<T>) { return T::bits == bits; };
  if (!with_first(list, same, f))
    throw Skip{"codes of " + std::to_string(bits) + " bits are not built yet"};
}

template <class T>
std::vector<T> transposed(const std::vector<T>& x, std::size_t rows, std::size_t columns) {
  std::vector<T> out(x.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) out[c * rows + r] = x[r * columns + c];
  return out;
}

std::vector<std::uint8_t> bytes_of(const std::vector<std::int32_t>& zero_points) {
  return {zero_points.begin(), zero_points.end()};
}

void require_codes(const Case& c, const char* name, const std::vector<std::uint8_t>& got) {
  const Tensor expected = c.output(name).load();
  require(name, exact(expected, code_tensor(expected.shape, got)));
}

void require_words(const Case& c, const char* name, const std::vector<std::int32_t>& got) {
  const Tensor expected = c.input(name).load();
  require(std::string(name) + ", stored", exact(expected, code_tensor(expected.shape, got)));
}

void require_reals(const Case& c, const char* name, const std::vector<float>& got) {
  const Tensor expected = c.output(name).load();
  require(name, within(c.tolerance, expected, tq::io::from_float32(name, expected.shape, got)));
}

}  // namespace

void gptq_unpack(const Case& c) {
  const auto format = c.attribute<std::string>("checkpoint_format", "gptq");
  if (!format.starts_with("gptq (v1"))
    throw Skip{"checkpoint format " + format + " is not built yet"};
  using List = TypeList<tq::uint2, tq::uint3, tq::uint4, tq::uint8>;
  with_bits(List{}, c, [&]<class T>(std::type_identity<T>) {
    using tq::layouts::gptq::V1;
    const tq::GroupedShape shape = grouped_shape(c, "in_features", "out_features", "group_size");
    const std::size_t k = shape.inputs, n = shape.outputs, groups = shape.groups();
    const auto qweight = tq::io::values<std::int32_t>(c.input("qweight").load());
    const auto qzeros = tq::io::values<std::int32_t>(c.input("qzeros").load());

    std::vector<std::uint8_t> codes(k * n);
    std::vector<std::int32_t> zero_points(groups * n);
    tq::layouts::gptq::load<T, V1>(shape, qweight, qzeros, codes, zero_points);
    require_codes(c, "codes", transposed(codes, k, n));
    require_codes(c, "zero_points", transposed(bytes_of(zero_points), groups, n));

    std::vector<std::int32_t> words(qweight.size()), zeros(qzeros.size());
    tq::layouts::gptq::store<T, V1>(shape, codes, zero_points, words, zeros);
    require_words(c, "qweight", words);
    require_words(c, "qzeros", zeros);

    const auto weight =
        tq::layouts::gptq::load_weight<T, V1>(shape, qweight, qzeros, c.input("scales").floats());
    require_reals(c, "weight", transposed(tq::dequantize(weight), k, n));
  });
}

void awq_unpack(const Case& c) {
  with_bits(TypeList<tq::uint4>{}, c, [&]<class T>(std::type_identity<T>) {
    const tq::GroupedShape shape = grouped_shape(c, "in_features", "out_features", "group_size");
    const auto qweight = tq::io::values<std::int32_t>(c.input("qweight").load());
    const auto qzeros = tq::io::values<std::int32_t>(c.input("qzeros").load());

    std::vector<std::uint8_t> codes(shape.inputs * shape.outputs);
    std::vector<std::int32_t> zero_points(shape.groups() * shape.outputs);
    tq::layouts::awq::load(shape, qweight, qzeros, codes, zero_points);
    require_codes(c, "codes", codes);
    require_codes(c, "zero_points", bytes_of(zero_points));

    std::vector<std::int32_t> words(qweight.size()), zeros(qzeros.size());
    tq::layouts::awq::store(shape, codes, zero_points, words, zeros);
    require_words(c, "qweight", words);
    require_words(c, "qzeros", zeros);

    const auto weight =
        tq::layouts::awq::load_weight(shape, qweight, qzeros, c.input("scales").floats());
    require_reals(c, "weight", tq::dequantize(weight));
  });
}

namespace {

template <class T, int Axis>
void check_compressed(const Case& c) {
  const Tensor input = c.input("codes").load(), expected = c.output("packed").load();
  const tq::Shape shape = shape_of(input);
  if (shape.rank() != 2) throw std::runtime_error("expected a matrix, got " + to_string(shape));
  const auto codes = tq::io::values<std::int8_t>(input);
  std::vector<std::int32_t> words(
      tq::layouts::compressed_tensors::words_for<T, Axis>(shape[0], shape[1]));
  tq::layouts::compressed_tensors::store<T, Axis>(shape[0], shape[1], codes, words);
  require("packed", within(c.tolerance, expected, code_tensor(expected.shape, words)));

  std::vector<std::int8_t> back(codes.size());
  tq::layouts::compressed_tensors::load<T, Axis>(shape[0], shape[1],
                                                 tq::io::values<std::int32_t>(expected), back);
  require("codes, loaded", exact(input, code_tensor(input.shape, back)));
}

}  // namespace

void compressed_tensors_pack(const Case& c) {
  using List = TypeList<tq::layouts::compressed_tensors::int1, tq::int2, tq::int3, tq::int4,
                        tq::int5, tq::int6, tq::int7, tq::int8>;
  const int axis = c.attributes.at("packed_dim").get<int>();
  if (axis != 0 && axis != 1) throw Skip{"dimension " + std::to_string(axis) + " is not built yet"};
  with_bits(List{}, c, [&]<class T>(std::type_identity<T>) {
    if (axis == 0) check_compressed<T, 0>(c);
    else check_compressed<T, 1>(c);
  });
}

void matmul_nbits(const Case& c) {
  using List = TypeList<tq::uint2, tq::uint4, tq::uint8>;
  with_bits(List{}, c, [&]<class T>(std::type_identity<T>) {
    const tq::GroupedShape shape = grouped_shape(c, "K", "N", "block_size");
    const std::size_t k = shape.inputs, n = shape.outputs;
    const Tensor b = c.input("B").load();
    const auto bytes = tq::io::values<std::uint8_t>(b);
    std::vector<std::uint8_t> codes(k * n), stored(bytes.size());
    tq::layouts::matmul_nbits::load<T>(shape, bytes, codes);
    tq::layouts::matmul_nbits::store<T>(shape, codes, stored);
    require("B, stored", exact(b, code_tensor(b.shape, stored)));

    std::vector<std::uint8_t> zero_points;
    if (c.inputs.size() > 3) {
      const Tensor zeros = c.input("zero_points").load();
      zero_points = tq::io::values<std::uint8_t>(zeros);
      std::vector<std::int32_t> z(shape.groups() * n);
      tq::layouts::matmul_nbits::load_zero_points<T>(shape, zero_points, z);
      stored.assign(zero_points.size(), 0);
      tq::layouts::matmul_nbits::store_zero_points<T>(shape, z, stored);
      require("zero_points, stored", exact(zeros, code_tensor(zeros.shape, stored)));
    }

    const std::vector<float> scales = c.input("scales").floats(), a = c.input("A").floats();
    const std::vector<float> weight = tq::dequantize(
        tq::layouts::matmul_nbits::load_differences<T>(shape, bytes, scales, zero_points));
    require_reals(c, "dequantized_nk", weight);

    const tq::GroupedLinear<tq::FloatActivations> layer(
        tq::layouts::matmul_nbits::load_weight<T>(shape, bytes, scales, zero_points).tensor);
    const tq::Shape rows{a.size() / k, k}, results{a.size() / k, n};
    std::vector<float> y(results.size());
    layer.forward(tq::ConstTensorView(a.data(), rows), tq::TensorView<float>(y.data(), results));
    require_reals(c, "Y", y);
  });
}

}  // namespace conformance
