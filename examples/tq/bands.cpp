// SPDX-License-Identifier: MIT
#include "bands.hpp"

#include <tq/model/any_granularity.hpp>

#include <algorithm>
#include <numeric>

namespace tool {

namespace {

// Parameters that are made of all scales, and a check of all values, need the whole tensor.
bool may_be_cut(const StoredTensor& tensor, const Encoding& encoding) {
  return tensor.elements() > piece_size && tensor.dtype != tq::io::DType::f64 &&
         encoding.layout.stored.factors == 0 && !encoding.layout.stored.has_offset;
}

// The fewest rows that are whole blocks and whole pieces.
std::size_t fewest_rows(const StoredTensor& tensor, const Encoding& encoding, std::size_t row) {
  const tq::Shape block = tq::AnyGranularity(encoding.spec).block(to_shape(tensor.shape));
  return std::lcm(block[0], piece_size / std::gcd(piece_size, row));
}

}  // namespace

Bands::Bands(const StoredTensor& tensor, const Encoding& encoding)
    : shape_(tensor.shape),
      all_(shape_.empty() ? 1 : shape_[0]),
      row_(all_ == 0 ? 0 : static_cast<std::size_t>(tensor.elements()) / all_),
      rows_(all_) {
  if (may_be_cut(tensor, encoding)) {
    const std::size_t rows = fewest_rows(tensor, encoding, row_);
    if (rows <= most_held / row_) rows_ = std::min(rows, all_);
  }
  size_ = rows_ == 0 ? 1 : (all_ + rows_ - 1) / rows_;
}

Band Bands::operator[](std::size_t i) const {
  const std::size_t begin = i * rows_, rows = std::min(rows_, all_ - begin);
  Band band{{begin * row_, rows * row_}, shape_};
  if (!shape_.empty()) band.shape[0] = rows;
  return band;
}

}  // namespace tool
