// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/description.hpp.

#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/json/json.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/store/description.hpp>
#include <tq/store/stored_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

namespace tq::store {

namespace detail {

TQ_API io::Json description(const Described& d) {
  return {{"dtype", std::string(io::safetensors_name(d.tensor->dtype))},
          {"shape", d.tensor->shape},
          {"spec", io::spec_to_json(d.encoding->spec)}};
}

// The kinds of pooled tensors, each written once, and which of them every tensor is.
// The kinds of pooled tensors, each written once, and which of them every tensor is.
class PoolKinds {
 public:
  // Precondition: names come in their order.
  TQ_API void add(const Described& d);
  [[nodiscard]] bool empty() const { return kinds_.empty(); }
  [[nodiscard]] TQ_API io::Json json(const std::string& pool);

 private:
  std::map<std::pair<io::DType, const Encoding*>, std::size_t> numbers_;
  io::Json kinds_ = io::Json::array(), tensors_ = io::Json::object();
};

TQ_API void PoolKinds::add(const Described& d) {
  const auto [kind, is_new] =
      numbers_.try_emplace(std::pair(d.tensor->dtype, d.encoding), numbers_.size());
  if (is_new) kinds_.push_back(description(d));
  auto& members = tensors_.get_ref<io::Json::object_t&>();
  members.emplace_hint(members.end(), d.tensor->name, kind->second);
}

TQ_API io::Json PoolKinds::json(const std::string& pool) {
  return {{"tensor", pool}, {"kinds", std::move(kinds_)}, {"tensors", std::move(tensors_)}};
}

}  // namespace detail

TQ_API std::string metadata_text(const std::vector<Described>& tensors, const std::string& pool) {
  io::Json entries = io::Json::object();
  detail::PoolKinds kinds;
  for (const Described& d : tensors)
    if (d.is_pooled) kinds.add(d);
    else entries[d.tensor->name] = detail::description(d);
  io::Json out{{"version", layout_version}, {"tensors", std::move(entries)}};
  if (!kinds.empty()) out["pool"] = kinds.json(pool);
  return out.dump();
}

TQ_API StoredTensor described_tensor(const io::Json& entry, const std::string& path, int version) {
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
