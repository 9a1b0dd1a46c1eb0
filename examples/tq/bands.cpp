// SPDX-License-Identifier: MIT
#include "bands.hpp"

#include <tq/scheme/any_granularity.hpp>

#include <algorithm>
#include <numeric>

namespace tool {

namespace {

std::size_t rows_of(const StoredTensor& tensor) {
  return tensor.shape.empty() ? 1 : tensor.shape[0];
}

// Elements of a row.
std::size_t row_size(const StoredTensor& tensor) {
  const std::size_t rows = rows_of(tensor);
  return rows == 0 ? 0 : static_cast<std::size_t>(tensor.elements()) / rows;
}

// Parameters that are made of all scales, and a check of all values, need the whole tensor.
bool may_be_cut(const StoredTensor& tensor, const Encoding& encoding) {
  return tensor.elements() > piece_size && tensor.dtype != tq::io::DType::f64 &&
         encoding.layout.stored.factors == 0 && !encoding.layout.stored.has_offset;
}

// The fewest rows that are whole blocks and whole pieces.
std::size_t fewest_rows(const StoredTensor& tensor, const Encoding& encoding) {
  const tq::Shape block = tq::AnyGranularity(encoding.spec).block(to_shape(tensor.shape));
  return std::lcm(block[0], piece_size / std::gcd(piece_size, row_size(tensor)));
}

}  // namespace

Bands::Bands(const StoredTensor& tensor, const Encoding& encoding)
    : tensor_(&tensor), rows_(rows_of(tensor)) {
  if (!may_be_cut(tensor, encoding)) return;
  const std::size_t rows = fewest_rows(tensor, encoding);
  if (rows <= most_held / row_size(tensor)) rows_ = std::min(rows, rows_);
}

std::size_t Bands::size() const { return rows_ == 0 ? 1 : (rows_of(*tensor_) + rows_ - 1) / rows_; }

Band Bands::operator[](std::size_t i) const {
  const std::size_t begin = i * rows_, rows = std::min(rows_, rows_of(*tensor_) - begin),
                    row = row_size(*tensor_);
  Band band{{begin * row, rows * row}, tensor_->shape};
  if (!band.shape.empty()) band.shape[0] = rows;
  return band;
}

}  // namespace tool
