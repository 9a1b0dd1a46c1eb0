// SPDX-License-Identifier: MIT
#pragma once
// SavePlan: the file that `save` writes, checked before a byte of it is written.

#include <tq/containers/safetensors_header.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/store/description.hpp>
#include <tq/store/detail/check_encoded.hpp>
#include <tq/store/detail/used_codes.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/part_bytes.hpp>
#include <tq/store/pool.hpp>
#include <tq/store/saved_tensor.hpp>
#include <tq/store/stored_parts.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Throws unless the parts of a quantized tensor are those that its scheme promises a reader.
inline void require_whole(const SavedTensor& tensor, const Encoding& encoding, CheckEncoded check) {
  const EncodedTensor& scheme = tensor.scheme();
  const io::DType dtype = tensor.stored().dtype;
  if (!is_quantizable(dtype))
    tq::detail::raise_expected(errc::bad_argument, "", {"a dtype of F64, F32, F16, BF16 or float8"},
                               {to_string(dtype)});
  check(scheme, encoding.layout, tensor.bytes().size());
  require_used_codes(tensor.bytes(), scheme, encoding.layout);
}

inline void require_plain(const SavedTensor& tensor) {
  const StoredTensor& t = tensor.stored();
  const auto size = io::storage_bytes(t.dtype, t.shape);
  if (!size || *size != tensor.bytes().size())
    tq::detail::raise_expected(errc::shape_mismatch, "",
                               {size ? std::to_string(*size) + " bytes" : "a shape of whole bytes",
                                " for ", to_string(t.dtype), " ", io::shape_text(t.shape)},
                               {tensor.bytes().size(), " bytes"});
}

// The tensors of the file, and the bytes of each.
class SavePlan {
 public:
  explicit SavePlan(std::span<const SavedTensor> tensors) : tensors_(tensors) {}

  void check(CheckEncoded check_encoded) {
    std::unordered_set<std::string_view> names;
    for (const SavedTensor& t : tensors_)
      naming(t.name(), [&] {
        if (!io::is_tensor_name(t.name()) || !names.insert(t.name()).second)
          raise(errc::bad_argument, "expected a name used once, in UTF-8, other than __metadata__");
        if (!t.is_quantized()) require_plain(t);
        encodings_.push_back(t.is_quantized() ? encoding_for(t) : nullptr);
        if (t.is_quantized()) require_whole(t, *encodings_.back(), check_encoded);
      });
    pool_small(names);
    declare();
  }

  [[nodiscard]] const std::vector<io::TensorDecl>& declarations() const { return declarations_; }
  [[nodiscard]] std::string description() const {
    std::vector<Described> list;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (encodings_[i] != nullptr && !is_pooled(i))
        list.push_back({&tensors_[i].stored(), encodings_[i].get(), false});
    for (const std::size_t i : pooled_)
      list.push_back({&tensors_[i].stored(), encodings_[i].get(), true});
    return metadata_text(list, pool_);
  }
  // Calls put(bytes) for those of a tensor of the file.
  template <class Put>
  void write(const std::string& name, Put&& put) const {
    if (!pool_.empty() && name == pool_) {
      for (const std::size_t i : pooled_)
        for (const StoredPart& part : encodings_[i]->parts) put_part(i, part, put);
      return;
    }
    const auto [i, part] = places_.at(name);
    if (part == nullptr) put(tensors_[i].bytes());
    else put_part(i, *part, put);
  }

 private:
  // The tensor and the part of it; null for one that is not quantized.
  using Place = std::pair<std::size_t, const StoredPart*>;

  // Tensors of one kind share theirs.
  [[nodiscard]] std::shared_ptr<const Encoding> encoding_for(const SavedTensor& t) {
    auto& encoding = kinds_[{to_string(t.scheme().spec), t.stored().shape}];
    if (encoding == nullptr) encoding = encoding_of(t.scheme().spec, t.stored().shape);
    return encoding;
  }

  void pool_small(const std::unordered_set<std::string_view>& names) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (encodings_[i] != nullptr && may_be_pooled(*encodings_[i])) {
        pooled_.push_back(i);
        bytes += encodings_[i]->layout.bytes();
      }
    if (pooled_.size() < pool_from_tensors || bytes == 0) return pooled_.clear();
    std::sort(pooled_.begin(), pooled_.end(), [&](std::size_t a, std::size_t b) {
      return tensors_[a].name() < tensors_[b].name();
    });
    in_pool_.resize(tensors_.size());
    for (const std::size_t i : pooled_) in_pool_[i] = true;
    pool_ = free_pool_name("tq.pool", [&](const std::string& n) { return names.contains(n); });
    declarations_.push_back({pool_, io::DType::u8, {bytes}});
  }
  [[nodiscard]] bool is_pooled(std::size_t i) const { return !in_pool_.empty() && in_pool_[i]; }

  void declare() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const StoredTensor& t = tensors_[i].stored();
      if (is_pooled(i)) continue;
      if (encodings_[i] == nullptr) {
        declare(i, nullptr, {t.name, t.dtype, t.shape});
        continue;
      }
      for (const StoredPart& part : encodings_[i]->parts)
        declare(i, &part, {part.name(t.name), part.dtype, part.shape});
    }
  }
  void declare(std::size_t i, const StoredPart* part, io::TensorDecl declaration) {
    const auto [found, is_new] = places_.try_emplace(declaration.name, i, part);
    if (!is_new)
      tq::detail::raise_text(
          errc::bad_argument,
          {"tensors ", io::shown(tensors_[found->second.first].name()), " and ",
           io::shown(tensors_[i].name()), " would both be stored as ", io::shown(found->first)});
    declarations_.push_back(std::move(declaration));
  }

  template <class Put>
  void put_part(std::size_t i, const StoredPart& part, Put&& put) const {
    if (part.kind == PartKind::codes) put(tensors_[i].bytes());
    else put(std::span<const std::byte>(part_bytes(tensors_[i].scheme(), part)));
  }

  std::span<const SavedTensor> tensors_;
  std::vector<std::shared_ptr<const Encoding>> encodings_;  // of tensors_; null of plain ones
  std::map<std::pair<std::string, std::vector<std::size_t>>, std::shared_ptr<const Encoding>>
      kinds_;                        // by scheme and shape
  std::vector<std::size_t> pooled_;  // by name
  std::vector<bool> in_pool_;        // of tensors_, or empty
  std::string pool_;
  std::vector<io::TensorDecl> declarations_;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace tq::store::detail
