// SPDX-License-Identifier: MIT
#pragma once
// The text pair "tq" of the metadata, which describes the quantized tensors of a file:
//   {"version": 2, "tensors": {"w": {"dtype": "F32", "shape": [64, 64], "spec": {"type": "int4",
//   ...}}}}
//
// Thousands of tensors of a few bytes share one tensor of bytes, because the names of their parts
// would take a hundred times their place: all parts of a tensor, then all parts of the next, by
// name. The pair "tq" then has as well
//   "pool": {"tensor": "tq.pool", "kinds": [{"dtype": ..., "shape": ..., "spec": ...}],
//            "tensors": {"w": 0}}
// where a number says which kind a tensor is.

#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/json/json.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/store/stored_parts.hpp>
#include <tq/store/stored_tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tq::store {

/// The key of the text pair.
inline constexpr const char* metadata_key = "tq";

/// A quantized tensor that the metadata describe.
struct Described {
  const StoredTensor* tensor;
  const Encoding* encoding;
  bool is_pooled;
};

namespace detail {

[[nodiscard]] inline io::Json description(const Described& d) {
  return {{"dtype", std::string(io::safetensors_name(d.tensor->dtype))},
          {"shape", d.tensor->shape},
          {"spec", io::spec_to_json(d.encoding->spec)}};
}

// The kinds of pooled tensors, each written once, and which of them every tensor is.
class PoolKinds {
 public:
  // Precondition: names come in their order.
  void add(const Described& d) {
    const auto [kind, is_new] =
        numbers_.try_emplace(std::pair(d.tensor->dtype, d.encoding), numbers_.size());
    if (is_new) kinds_.push_back(description(d));
    auto& members = tensors_.get_ref<io::Json::object_t&>();
    members.emplace_hint(members.end(), d.tensor->name, kind->second);
  }
  [[nodiscard]] bool empty() const { return kinds_.empty(); }
  [[nodiscard]] io::Json json(const std::string& pool) {
    return {{"tensor", pool}, {"kinds", std::move(kinds_)}, {"tensors", std::move(tensors_)}};
  }

 private:
  std::map<std::pair<io::DType, const Encoding*>, std::size_t> numbers_;
  io::Json kinds_ = io::Json::array(), tensors_ = io::Json::object();
};

}  // namespace detail

/// The value of the text pair. Tensors in a pool come in the order of their names; those of one
/// kind share an `Encoding`.
[[nodiscard]] inline std::string metadata_text(const std::vector<Described>& tensors,
                                               const std::string& pool) {
  io::Json entries = io::Json::object();
  detail::PoolKinds kinds;
  for (const Described& d : tensors)
    if (d.is_pooled) kinds.add(d);
    else entries[d.tensor->name] = detail::description(d);
  io::Json out{{"version", layout_version}, {"tensors", std::move(entries)}};
  if (!kinds.empty()) out["pool"] = kinds.json(pool);
  return out.dump();
}

/// The tensor, or the kind of tensors in a pool, that an entry of the metadata describes. Throws:
/// `errc::malformed`, naming the field; as `io::spec_from_json` and `encoding_of`.
[[nodiscard]] inline StoredTensor described_tensor(const io::Json& entry, const std::string& path,
                                                   int version) {
  io::JsonFields member(entry, "tq", path);
  StoredTensor t;
  const std::string dtype = member.string("dtype");
  const auto known = io::dtype_from_safetensors(dtype);
  if (!known || !is_quantizable(*known))
    member.refuse("dtype", "F64, F32, F16, BF16 or float8", io::shown(dtype));
  t.dtype = *known;
  for (const std::int64_t extent :
       member.integers("shape", 0, std::numeric_limits<std::int64_t>::max()))
    t.shape.push_back(static_cast<std::size_t>(extent));
  const QuantSpec spec = io::spec_from_json<all_elements, all_scales>(member.at("spec"), path);
  member.finish();
  if (!io::storage_bytes(t.dtype, t.shape))
    member.refuse("shape", "less than 2^64 bits", io::shape_text(t.shape));
  t.encoding = encoding_of(spec, t.shape, version);
  return t;
}

}  // namespace tq::store
