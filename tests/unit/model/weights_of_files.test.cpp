// SPDX-License-Identifier: MIT
// Integer layers of weights that a file on disk holds.
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/core/formats.hpp>
#include <tq/json/json.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/grouped_weights_bytes.hpp>
#include <tq/linear/quantized_linear.hpp>
#include <tq/model/byte_weights_of.hpp>
#include <tq/model/grouped_weights_of.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/scheme/encoded_conversion.hpp>
#include <tq/scheme/stored_parameters.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/directories.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

using namespace tq;

namespace {

constexpr std::size_t rows = 4, outputs = 21, inputs_of = 96;
const Shape shape{outputs, inputs_of};
const std::vector<float> w = inputs::normals(shape.size(), 1),
                         x = inputs::normals(rows * inputs_of, 2),
                         bias = inputs::normals(outputs, 3);

std::filesystem::path file(const char* name) {
  return std::filesystem::path(test::output_dir) / name;
}

// Codes, stored scales and zero points as tensors of a file, and the scheme in its metadata.
void write(const std::filesystem::path& path, const EncodedTensor& t) {
  const StoredParameters parameters = stored_parameters<all_scales>(t);
  io::Tensor codes{"w.codes", io::DType::u8, {t.codes.size()}, {}};
  codes.bytes.assign(t.codes.span().begin(), t.codes.span().end());
  std::vector<io::Tensor> tensors{std::move(codes)};
  const auto add = [&]<class T>(const char* name, const std::vector<T>& values) {
    if (!values.empty())
      tensors.push_back(io::from_values<T>(name, {values.size()}, std::span<const T>(values)));
  };
  add("w.scale_codes", parameters.scales.codes);
  add("w.scales", parameters.scales.factors);
  add("w.zero_points", parameters.zero_points);
  io::write_safetensors(path, tensors, {{"scheme", io::spec_to_json(t.spec).dump()}});
}

EncodedTensor read(const std::filesystem::path& path) {
  io::TensorFile opened = io::open_tensor_file(path);
  EncodedTensor t;
  t.spec = io::spec_from_json<grouped_elements, all_scales>(
      io::Json::parse(opened.metadata().at("scheme")));
  t.shape = shape;
  const io::Tensor codes = opened.read("w.codes");
  t.codes = Buffer<std::byte>(codes.bytes.size());
  std::copy(codes.bytes.begin(), codes.bytes.end(), t.codes.data());
  StoredParameters parameters;
  const auto take = [&]<class T>(const char* name, std::vector<T>& values) {
    if (opened.find(name) != nullptr) values = io::values<T>(opened.read(name));
  };
  take("w.scale_codes", parameters.scales.codes);
  take("w.scales", parameters.scales.factors);
  take("w.zero_points", parameters.zero_points);
  set_parameters<grouped_elements, all_scales>(t, std::move(parameters));
  return t;
}

template <class Params>
auto quantized() {
  return quantize_dynamic<Params>(ConstTensorView(w.data(), shape));
}
template <class Layer>
std::vector<float> run(const Layer& layer) {
  std::vector<float> y(rows * outputs);
  layer.forward(ConstTensorView(x.data(), Shape{rows, inputs_of}),
                TensorView<float>(y.data(), Shape{rows, outputs}));
  return y;
}

template <class Params>
GroupedWeights written_and_read(const char* name) {
  write(file(name), to_encoded(quantized<Params>()));
  return grouped_weights_of(read(file(name)));
}
template <class Params>
bool comes_back(const char* name) {
  return save_grouped_weights(written_and_read<Params>(name)) ==
         save_grouped_weights(GroupedWeights(quantized<Params>()));
}

}  // namespace

TEST_CASE("a layer of int8 weights of a file gives the bits of the one that was never written") {
  const auto q = quantized<QuantParams<int8, PerChannel<0>, Symmetric>>();
  const auto path = file("rows_of_int8.safetensors");
  write(path, to_encoded(q));
  CHECK(run(QuantizedLinear<>(byte_weights_of(read(path)), bias)) ==
        run(QuantizedLinear<>(q, bias)));
}

TEST_CASE("a layer of groups of a file gives the bits of the one that was never written") {
  using Nibbles = QuantParams<uint4, PerGroup<32>, Asymmetric, float16>;
  const GroupedLinear<Int8PerRow> layer(written_and_read<Nibbles>("layer.safetensors"), bias);
  CHECK(run(layer) == run(GroupedLinear<Int8PerRow>(quantized<Nibbles>(), bias)));
  CHECK(comes_back<Nibbles>("groups_of_uint4.safetensors"));
  CHECK(comes_back<nvfp4>("nvfp4.safetensors"));
  CHECK(comes_back<nf4_64>("nf4.safetensors"));
}

TEST_CASE("a file whose parts do not fit its scheme gives no weights") {
  const auto refused_as = [](errc code, std::initializer_list<const char*> parts, auto&& change) {
    EncodedTensor t = to_encoded(quantized<QuantParams<int8, PerChannel<0>, Symmetric>>());
    change(t);
    const auto path = file("damaged.safetensors");
    write(path, t);
    test::raises(code, parts, [&] { (void)byte_weights_of(read(path)); });
    test::raises(code, parts, [&] { (void)grouped_weights_of(read(path)); });
  };
  refused_as(errc::shape_mismatch, {"2016 bytes of codes", "[21, 96]"},
             [](EncodedTensor& t) { t.codes = Buffer<std::byte>(2015); });
  refused_as(errc::shape_mismatch, {"21 scales", "20"},
             [](EncodedTensor& t) { t.scales = Scales<float>(std::vector<float>(20, 1.0f)); });
  refused_as(errc::bad_scale, {"positive finite scales", "-1"},
             [](EncodedTensor& t) { t.scales = Scales<float>(std::vector<float>(21, -1.0f)); });
}
