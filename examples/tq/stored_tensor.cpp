// SPDX-License-Identifier: MIT
#include "stored_tensor.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <utility>

namespace tool {

using tq::io::DType;
using tq::io::Json;

tq::Shape to_shape(const std::vector<std::size_t>& extents) {
  return tq::Shape(std::span<const std::size_t>(extents));
}

std::vector<std::size_t> to_extents(const tq::Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

std::shared_ptr<const Encoding> encoding_of(const tq::QuantSpec& spec,
                                            const std::vector<std::size_t>& shape, int version) {
  const tq::EncodedLayout layout = layout_of(spec, to_shape(shape));
  return std::make_shared<const Encoding>(
      Encoding{spec, layout, stored_parts(shape, spec, layout, version)});
}

std::string no_weight(const StoredTensor& tensor, bool requantize) {
  if (!tensor.left_alone.empty()) return tensor.left_alone;
  if (!tensor.foreign) return is_quantizable(tensor.dtype) ? "" : "not float";
  return requantize ? "" : "quantized: " + tensor.foreign->scheme;
}

std::string too_few_axes(const StoredTensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  return rank < 2 ? std::to_string(rank) + "-D" : "";
}

std::string kept_kind(const StoredTensor& tensor) {
  const auto& kept = tq::default_float_kinds;
  const bool is_kept = std::find(kept.begin(), kept.end(), tensor.kind) != kept.end();
  return is_kept ? "kind " + std::string(to_string(tensor.kind)) : "";
}

std::string growth(const StoredTensor& tensor, const tq::EncodedLayout& layout) {
  if (layout.bytes() <= tensor.plain_bytes()) return "";
  const auto bits = [&](std::uint64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g",
                  8 * static_cast<double>(bytes) / static_cast<double>(tensor.elements()));
    return std::string(text);
  };
  if (tensor.elements() == 0) return "would grow";
  return "would grow from " + bits(tensor.plain_bytes()) + " to " + bits(layout.bytes()) +
         " bits a weight";
}

tq::QuantSpec spec_for(const tq::QuantSpec& spec, const StoredTensor& tensor) {
  return tq::spec_for(spec, tensor.shape, tensor.axes);
}

namespace {

Json description(const Described& d) {
  return {{"dtype", std::string(tq::io::safetensors_name(d.tensor->dtype))},
          {"shape", d.tensor->shape},
          {"spec", tq::io::spec_to_json(d.encoding->spec)}};
}

// The kinds of pooled tensors, each written once, and which one every tensor is.
class Kinds {
 public:
  // Precondition: names come in their order.
  void add(const Described& d) {
    const auto [kind, is_new] =
        numbers_.try_emplace(std::pair(d.tensor->dtype, d.encoding), numbers_.size());
    if (is_new) kinds_.push_back(description(d));
    auto& members = tensors_.get_ref<Json::object_t&>();
    members.emplace_hint(members.end(), d.tensor->name, kind->second);
  }
  [[nodiscard]] bool empty() const { return kinds_.empty(); }
  [[nodiscard]] Json json(const std::string& pool) {
    return {{"tensor", pool}, {"kinds", std::move(kinds_)}, {"tensors", std::move(tensors_)}};
  }

 private:
  std::map<std::pair<DType, const Encoding*>, std::size_t> numbers_;
  Json kinds_ = Json::array(), tensors_ = Json::object();
};

}  // namespace

StoredTensor described_tensor(const Json& entry, const std::string& path, int version) {
  tq::io::JsonFields member(entry, "tq", path);
  StoredTensor t;
  const std::string dtype = member.string("dtype");
  const auto known = tq::io::dtype_from_safetensors(dtype);
  if (!known || !is_quantizable(*known))
    member.refuse("dtype", "F64, F32, F16, BF16 or float8", tq::io::detail::shown(dtype));
  t.dtype = *known;
  for (const std::int64_t extent :
       member.integers("shape", 0, std::numeric_limits<std::int64_t>::max()))
    t.shape.push_back(static_cast<std::size_t>(extent));
  const tq::QuantSpec spec = spec_from(member.at("spec"), path);
  member.finish();
  if (!tq::io::storage_bytes(t.dtype, t.shape))
    member.refuse("shape", "less than 2^64 bits", tq::io::shape_text(t.shape));
  t.encoding = encoding_of(spec, t.shape, version);
  return t;
}

std::string metadata_text(const std::vector<Described>& tensors, const std::string& pool) {
  Json entries = Json::object();
  Kinds kinds;
  for (const Described& d : tensors)
    if (d.is_pooled) kinds.add(d);
    else entries[d.tensor->name] = description(d);
  Json out{{"version", layout_version}, {"tensors", std::move(entries)}};
  if (!kinds.empty()) out["pool"] = kinds.json(pool);
  return out.dump();
}

}  // namespace tool
