// SPDX-License-Identifier: MIT
#pragma once
// FileTensors: the tensors of a file by name; and the parts of names.

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/name_index.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tq::io::detail {

// "layer." of "layer.weight".
[[nodiscard]] inline std::string stem(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return std::string(dot == name.npos ? "" : name.substr(0, dot + 1));
}
// "weight" of "layer.weight".
[[nodiscard]] inline std::string_view leaf(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

[[nodiscard]] inline std::size_t count(const TensorInfo& t) {
  return static_cast<std::size_t>(*element_count(t.shape));
}
// The type of the decoded weight: that of scales that are floats of a model.
[[nodiscard]] constexpr DType float_type(DType scales) noexcept {
  return scales == DType::f16 || scales == DType::bf16 ? scales : DType::f32;
}
[[nodiscard]] inline std::string groups_text(const CheckpointWeight& w, std::size_t k) {
  if (w.group_size == 0) return ", groups of g_idx";
  return w.group_size == k ? ", per channel" : ", groups of " + std::to_string(w.group_size);
}

// The tensors of a file by name, and what else is known of it.
class FileTensors {
 public:
  FileTensors(std::span<const TensorInfo> tensors, const ReadTensor& read,
              const CheckpointHints& hints)
      : tensors_(tensors), index_(tensors.size()), read_(read), hints_(hints) {
    for (std::size_t i = 0; i < tensors.size(); ++i) (void)index_.add_next(tensors_);
  }
  [[nodiscard]] std::span<const TensorInfo> all() const noexcept { return tensors_; }
  [[nodiscard]] const CheckpointHints& hints() const noexcept { return hints_; }
  [[nodiscard]] const TensorInfo* find(std::string_view name) const {
    const std::optional<std::size_t> place = index_.find(tensors_, name);
    return place ? &tensors_[*place] : nullptr;
  }
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Where in `all` an entry of it is.
  [[nodiscard]] std::size_t place_of(const TensorInfo& t) const {
    return static_cast<std::size_t>(&t - tensors_.data());
  }
  [[nodiscard]] Tensor read(const TensorInfo& t) const { return read_(t.name); }

 private:
  std::span<const TensorInfo> tensors_;
  NameIndex index_;
  const ReadTensor& read_;
  const CheckpointHints& hints_;
};

}  // namespace tq::io::detail
