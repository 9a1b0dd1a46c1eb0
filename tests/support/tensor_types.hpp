// SPDX-License-Identifier: MIT
#pragma once
// Tensors of other libraries, with the members that tq looks for, and one of a user's own.

#include <tq/core/tensor_view.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace tensor_types {

/// The members of std::mdspan that readers use, with a layout of any strides.
template <class T, std::size_t Rank>
class Mdspan {
 public:
  using element_type = T;
  using data_handle_type = T*;
  using index_type = int;
  using rank_type = std::size_t;
  using extents_type = std::array<index_type, Rank>;

  Mdspan(T* data, const extents_type& extents, const extents_type& strides)
      : data_(data), extents_(extents), strides_(strides) {}

  static constexpr rank_type rank() noexcept { return Rank; }
  [[nodiscard]] index_type extent(rank_type i) const noexcept { return extents_[i]; }
  [[nodiscard]] index_type stride(rank_type i) const noexcept { return strides_[i]; }
  [[nodiscard]] T* const& data_handle() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t n = 1;
    for (const index_type e : extents_) n *= static_cast<std::size_t>(e);
    return n;
  }

 private:
  T* data_;
  extents_type extents_, strides_;
};

/// The members of xtensor's containers and views: elements that are owned, shape and strides, and
/// an offset of the first element. Iteration is row-major.
template <class T>
class Xtensor {
 public:
  Xtensor(std::vector<T> data, std::vector<std::size_t> shape, std::vector<std::ptrdiff_t> strides,
          std::size_t offset = 0)
      : data_(std::move(data)),
        shape_(std::move(shape)),
        strides_(std::move(strides)),
        offset_(offset) {}

  [[nodiscard]] T* data() noexcept { return data_.data(); }
  [[nodiscard]] const T* data() const noexcept { return data_.data(); }
  [[nodiscard]] const std::vector<std::size_t>& shape() const noexcept { return shape_; }
  [[nodiscard]] const std::vector<std::ptrdiff_t>& strides() const noexcept { return strides_; }
  [[nodiscard]] std::size_t data_offset() const noexcept { return offset_; }
  [[nodiscard]] std::size_t size() const noexcept { return data_.size(); }
  [[nodiscard]] const T* begin() const noexcept { return data_.data(); }
  [[nodiscard]] const T* end() const noexcept { return data_.data() + data_.size(); }

 private:
  std::vector<T> data_;
  std::vector<std::size_t> shape_;
  std::vector<std::ptrdiff_t> strides_;
  std::size_t offset_;
};

}  // namespace tensor_types

namespace somebody {

/// A user's matrix, in column-major memory.
template <class T>
struct Matrix {
  std::vector<T> data;
  std::size_t rows, columns;
};

/// All that tq needs, for constant matrices too.
template <class M>
  requires requires(M& m) {
    m.data.data();
    m.rows + m.columns;
  }
auto tq_as_tensor(M& m) {
  using T = std::remove_pointer_t<decltype(m.data.data())>;
  return tq::TensorView<T>(m.data.data(), {m.rows, m.columns},
                           {1, static_cast<std::ptrdiff_t>(m.rows)});
}

}  // namespace somebody
