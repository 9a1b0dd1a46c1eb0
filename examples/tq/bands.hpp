// SPDX-License-Identifier: MIT
#pragma once
// The bands of a tensor: rows of its first axis whose parameters do not depend on the others, so
// that each is quantized as a tensor of its own and the results stand one after the other.

#include "stored_model.hpp"
#include "values.hpp"

#include <cstddef>
#include <vector>

namespace tool {

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

}  // namespace tool
