// SPDX-License-Identifier: MIT
#pragma once
// The bands of a tensor: rows of its first axis whose parameters do not depend on the others, so
// that each is quantized as a tensor of its own and the results stand one after the other.

#include <tq/error.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/store/float_reader.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace tq::store::detail {

struct Band {
  Stretch stretch;
  std::vector<std::size_t> shape;
};

class Bands {
 public:
  // Elements of which a thread holds values. A band has no more, unless it is the whole tensor.
  static constexpr std::size_t most_held = 48 * piece_size;

  // All bands but the last have a multiple of piece_size elements, so that errors are summed as
  // over the whole tensor. Refers to the tensor.
  Bands(const StoredTensor& tensor, const Encoding& encoding);

  [[nodiscard]] std::size_t size() const;
  // Precondition: i < size(). A tensor without elements has one band.
  [[nodiscard]] Band operator[](std::size_t i) const;

 private:
  const StoredTensor* tensor_;
  std::size_t rows_;  // of a band but the last
};

inline std::size_t rows_of(const StoredTensor& tensor) {
  return tensor.shape.empty() ? 1 : tensor.shape[0];
}

// Elements of a row.
inline std::size_t row_size(const StoredTensor& tensor) {
  const std::size_t rows = rows_of(tensor);
  return rows == 0 ? 0 : static_cast<std::size_t>(tensor.elements()) / rows;
}

// Parameters that are made of all scales, and a check of all values, need the whole tensor.
inline bool may_be_cut(const StoredTensor& tensor, const Encoding& encoding) {
  return tensor.elements() > piece_size && tensor.dtype != io::DType::f64 &&
         encoding.layout.stored.factors == 0 && !encoding.layout.stored.has_offset;
}

// The fewest rows that are whole blocks and whole pieces.
inline std::size_t fewest_rows(const StoredTensor& tensor, const Encoding& encoding) {
  const Shape block = AnyGranularity(encoding.spec).block(to_shape(tensor.shape));
  return std::lcm(block[0], piece_size / std::gcd(piece_size, row_size(tensor)));
}

inline Bands::Bands(const StoredTensor& tensor, const Encoding& encoding)
    : tensor_(&tensor), rows_(rows_of(tensor)) {
  if (!may_be_cut(tensor, encoding)) return;
  const std::size_t rows = fewest_rows(tensor, encoding);
  if (rows <= most_held / row_size(tensor)) rows_ = std::min(rows, rows_);
}

inline std::size_t Bands::size() const {
  return rows_ == 0 ? 1 : (rows_of(*tensor_) + rows_ - 1) / rows_;
}

inline Band Bands::operator[](std::size_t i) const {
  const std::size_t begin = i * rows_, rows = std::min(rows_, rows_of(*tensor_) - begin),
                    row = row_size(*tensor_);
  Band band{{begin * row, rows * row}, tensor_->shape};
  if (!band.shape.empty()) band.shape[0] = rows;
  return band;
}

}  // namespace tq::store::detail
