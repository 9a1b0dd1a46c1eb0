// SPDX-License-Identifier: MIT
// GGUF: files, and the blocks of its types.

#include "operators.hpp"

#include <tq/containers/gguf.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/layouts/gguf.hpp>
#include <tq/layouts/gguf/best.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace conformance {

namespace {

namespace gguf = tq::layouts::gguf;

gguf::Type type_of(const Case& c) {
  const auto number = c.attributes.at("ggml_type").get<std::uint32_t>();
  const gguf::TypeInfo* const info = gguf::find_type(number);
  if (info == nullptr) throw std::runtime_error("no type " + std::to_string(number));
  if (const auto name = c.attributes.at("type").get<std::string>(); name != info->name)
    require("type", Difference{"name", {}, name, std::string(info->name)});
  return info->type;
}

std::vector<std::uint8_t> bytes_of(const Tensor& t) { return tq::io::values<std::uint8_t>(t); }

std::vector<float> dequantized(gguf::Type type, std::span<const std::uint8_t> blocks,
                               std::size_t count) {
  std::vector<float> out(count);
  gguf::dequantize(type, blocks, out);
  return out;
}

// Row by row, and all rows at once, which must agree.
template <class Quantizer>
std::vector<std::uint8_t> quantized(gguf::Type type, const std::vector<float>& x,
                                    std::size_t columns, const Quantizer& quantizer,
                                    std::span<const float> importance) {
  const gguf::TypeInfo& info = gguf::info_of(type);
  const std::size_t row_bytes = columns / info.elements * info.bytes;
  std::vector<std::uint8_t> rows(x.size() / columns * row_bytes), all(rows.size());
  for (std::size_t r = 0; r < x.size() / columns; ++r)
    gguf::quantize(type, std::span(x).subspan(r * columns, columns),
                   std::span(rows).subspan(r * row_bytes, row_bytes), quantizer, importance);
  gguf::quantize(type, x, all, quantizer, importance);
  require("rows apart", exact_bytes(std::as_bytes(std::span(rows)), std::as_bytes(std::span(all))));
  return all;
}

bool is_searched(gguf::Type type) {
  bool searched = false;
  gguf::detail::Blocks::visit(
      type, [&]<class B>(std::type_identity<B>) { searched = gguf::Searched<B>; });
  return searched;
}

// The guarded search has at most the reference's error in every row, weighted or not.
void require_best(gguf::Type type, const std::vector<float>& x, std::size_t columns,
                  std::span<const std::uint8_t> reference, std::span<const float> importance) {
  if (!is_searched(type)) return;
  const auto blocks = quantized(type, x, columns, gguf::best{gguf::Effort::guarded}, importance);
  require("best", error_ratio(x, columns, dequantized(type, reference, x.size()),
                              dequantized(type, blocks, x.size()), importance, 1.0, 1e-12));
}

std::string scalar_text(const tq::io::GgufValue& value) {
  return std::visit(
      []<class T>(const T& v) -> std::string {
        if constexpr (std::is_same_v<T, std::string>) return nlohmann::json(v).dump();
        else if constexpr (std::is_same_v<T, tq::io::GgufArray>) return "an array";
        // 64-bit integers are decimal strings in the manifest.
        else if constexpr (sizeof(T) == 8 && std::is_integral_v<T>)
          return '"' + std::to_string(v) + '"';
        else return nlohmann::json(v).dump();
      },
      value);
}

void require_value(const std::string& key, const nlohmann::json& expected,
                   const tq::io::GgufValue& value) {
  const auto type = expected.at("type").get<std::string>();
  if (type != tq::io::type_name(value))
    require(key, Difference{"type", {}, type, std::string(tq::io::type_name(value))});
  std::string got = scalar_text(value);
  if (const auto* const array = std::get_if<tq::io::GgufArray>(&value)) {
    const auto element = expected.at("elem").get<std::string>();
    if (const auto name = tq::io::detail::gguf_value_types[array->index()]; name != element)
      require(key, Difference{"element type", {}, element, std::string(name)});
    got = std::visit(
        []<class V>(const V& values) {
          nlohmann::json out = nlohmann::json::array();
          if constexpr (!std::is_same_v<V, std::monostate>)
            for (const auto& v : values)
              out.push_back(static_cast<const typename V::value_type&>(v));
          return out.dump();
        },
        *array);
    // Decimal digits of float32 are those of its value in float64.
    if (element == "float32") got = nlohmann::json::parse(got).dump();
  }
  if (const std::string text = expected.at("value").dump(); text != got)
    require(key, Difference{"value", {}, text, got});
}

void require_number(const std::string& what, std::uint64_t expected, std::uint64_t got) {
  if (expected != got)
    require(what, Difference{"", {}, std::to_string(expected), std::to_string(got)});
}

void require_tensor(const nlohmann::json& expected, const tq::io::GgufReader& reader,
                    const tq::io::GgufTensor& got) {
  const auto name = expected.at("name").get<std::string>();
  if (name != got.name) require(name, Difference{"name", {}, name, got.name});
  auto shape = expected.at("ne").get<std::vector<std::size_t>>();
  std::reverse(shape.begin(), shape.end());
  if (shape != got.shape)
    require(name,
            Difference{"shape", {}, tq::io::shape_text(shape), tq::io::shape_text(got.shape)});
  require_number(name + ": type", expected.at("type").get<std::uint64_t>(),
                 static_cast<std::uint64_t>(got.type));
  require_number(name + ": offset", expected.at("offset").get<std::uint64_t>(),
                 got.offset - reader.data_offset());
  require_number(name + ": bytes", expected.at("nbytes").get<std::uint64_t>(), got.size_bytes);
}

Tensor values_of(const tq::io::GgufReader& reader, const std::string& name) {
  const tq::io::GgufTensor& info = reader.info(name);
  if (gguf::has_block(info.type)) {
    const std::vector<std::byte> raw = reader.read_bytes(name);
    const auto* const first = reinterpret_cast<const std::uint8_t*>(raw.data());
    return tq::io::from_float32(
        name, info.shape,
        dequantized(info.type, {first, raw.size()}, *tq::io::element_count(info.shape)));
  }
  Tensor t = reader.read(name);
  if (t.dtype == DType::f16 || t.dtype == DType::bf16)
    return tq::io::from_float32(name, t.shape, tq::io::to_float32(t));
  return t;
}

}  // namespace

void gguf_dequantize(const Case& c) {
  const Tensor expected = c.output("values").load();
  const std::vector<std::uint8_t> blocks = bytes_of(c.input("blocks").load());
  const std::vector<float> values =
      dequantized(type_of(c), blocks, *tq::io::element_count(expected.shape));
  require("values", exact(expected, tq::io::from_float32("values", expected.shape, values), "",
                          ZeroSign::ignored));
}

// Also where the tolerance asks for less, bytes are those of ggml.
void gguf_quantize(const Case& c) {
  const gguf::Type type = type_of(c);
  const Tensor expected = c.output("blocks").load();
  const std::vector<float> x = c.input("x").floats();
  const std::size_t columns = c.input("x").load().shape.back();
  const std::vector<std::uint8_t> blocks = quantized(type, x, columns, gguf::ggml{}, {});
  require("blocks", exact_bytes(expected.bytes, std::as_bytes(std::span(blocks))));
  require_best(type, x, columns, blocks, {});
}

void gguf_quantize_imatrix(const Case& c) {
  const gguf::Type type = type_of(c);
  const std::vector<float> x = c.input("x").floats(), importance = c.input("imatrix").floats();
  const std::vector<std::uint8_t> reference = bytes_of(c.output("blocks").load());
  const std::vector<std::uint8_t> blocks =
      quantized(type, x, importance.size(), gguf::ggml{}, importance);
  require("blocks", error_ratio(x, importance.size(), dequantized(type, reference, x.size()),
                                dequantized(type, blocks, x.size()), importance,
                                c.tolerance.number("max_ratio"), c.tolerance.number("abs")));
  require_best(type, x, importance.size(), reference, importance);
}

void gguf_read(const Case& c) {
  const TensorFile& file = c.input(0);
  const std::string kind = c.tolerance.kind();
  if (kind == "must_reject" || kind == "should_reject") {
    static_cast<void>(file.existing());
    Reading reading = Reading::accepted;
    try {
      static_cast<void>(tq::io::GgufReader::open(file.file));
    } catch (const tq::error&) {
      reading = Reading::rejected;
    }
    return require(file.name, rejection(reading));
  }
  const auto reader = tq::io::GgufReader::open(file.existing());
  require_number("version", c.attributes.at("version").get<std::uint64_t>(), reader.version());
  require_number("alignment", c.attributes.at("alignment").get<std::uint64_t>(),
                 reader.alignment());
  if (!reader.tensors().empty())
    require_number("data offset", c.attributes.at("data_offset").get<std::uint64_t>(),
                   reader.data_offset());
  const nlohmann::json kv = c.attribute("kv", nlohmann::json::object());
  require_number("keys", kv.size(), reader.entries().size());
  for (const tq::io::GgufEntry& e : reader.entries()) require_value(e.name, kv.at(e.name), e.value);
  const nlohmann::json tensors = c.attribute("tensors", nlohmann::json::array());
  require_number("tensors", tensors.size(), reader.tensors().size());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    require_tensor(tensors[i], reader, reader.tensors()[i]);
  for (const TensorFile& t : c.outputs)
    require(t.name, exact(t.load(), values_of(reader, t.name), "", ZeroSign::ignored));
}

}  // namespace conformance
