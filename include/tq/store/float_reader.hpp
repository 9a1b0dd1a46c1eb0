// SPDX-License-Identifier: MIT
#pragma once
// FloatReader: the values of stored tensors as float32, which is what tq quantizes, piece by piece.

#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/buffer.hpp>
#include <tq/error.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <sstream>
#include <string>

namespace tq::store {

namespace detail {

[[noreturn]] inline void refuse_value(const std::string& what, double value) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  text << "expected values that float32 holds, got " << value << what << "; `exclude` it";
  raise(errc::unsupported, text.str());
}

}  // namespace detail

/// Elements of a tensor that follow one another, row-major.
struct Stretch {
  std::size_t first = 0, count = 0;

  friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// Reads the tensors of a model as float32, piece by piece, in memory that is kept from tensor to
/// tensor.
template <class Model = StoredModel>
class FloatReader {
 public:
  /// A stretch of up to `most_held` elements is held until another is read.
  explicit FloatReader(Model& model, bool allow_infinite = false,
                       std::size_t most_held = piece_size)
      : model_(model), allow_infinite_(allow_infinite), most_held_(most_held) {}

  /// Calls f(first, values) for the pieces of a tensor. Throws: errc::unsupported where a finite
  /// value becomes infinite, unless infinities are allowed, and where all values that are not 0
  /// become 0.
  template <class F>
  void for_each(const StoredTensor& tensor, F&& f) {
    for_each(tensor, {0, static_cast<std::size_t>(tensor.elements())}, f);
  }
  /// The same of a stretch, from whose beginning `first` counts.
  template <class F>
  void for_each(const StoredTensor& tensor, Stretch stretch, F&& f) {
    visit(tensor, stretch, stretch.count <= most_held_, f);
  }
  /// The values of a stretch of any length, until another is read. Throws: as `for_each`.
  [[nodiscard]] std::span<const float> all(const StoredTensor& tensor, Stretch stretch) {
    visit(tensor, stretch, true, [](std::size_t, std::span<const float>) {});
    return values_.span().first(stretch.count);
  }

 private:
  template <class F>
  void visit(const StoredTensor& tensor, Stretch stretch, bool holds, F&& f) {
    const bool is_held = held_ == &tensor && held_stretch_ == stretch;
    if (!is_held) begin(holds ? stretch.count : std::min(stretch.count, piece_size));
    for_each_piece(stretch.count, [&](std::size_t first, std::size_t count) {
      const std::span<float> values = values_.span().subspan(holds ? first : 0, count);
      if (!is_held) read(tensor, stretch.first + first, values);
      f(first, std::span<const float>(values));
    });
    if (is_zero_ && largest_ != 0) refuse_zero();
    if (!holds) return;
    held_ = &tensor;
    held_stretch_ = stretch;
  }
  void begin(std::size_t room);
  void read(const StoredTensor& tensor, std::size_t first, std::span<float> values);
  void require_kept(std::span<const std::byte> exact, std::span<const float> values,
                    std::size_t first);
  [[noreturn]] void refuse_zero() const;

  Model& model_;
  bool allow_infinite_;
  std::size_t most_held_;
  Buffer<float> values_;
  const StoredTensor* held_ = nullptr;  // the tensor of which values_ has a stretch, or null
  Stretch held_stretch_;
  double largest_ = 0;   // magnitude so far, of values that float32 may not hold
  bool is_zero_ = true;  // in float32
};

template <class Model>
void FloatReader<Model>::begin(std::size_t room) {
  held_ = nullptr;
  largest_ = 0;
  is_zero_ = true;
  static_cast<void>(grown(values_, room));
}

template <class Model>
void FloatReader<Model>::read(const StoredTensor& tensor, std::size_t first,
                              std::span<float> values) {
  const std::span<const std::byte> bytes = model_.piece(tensor, first, values.size());
  io::to_float32(tensor.dtype, bytes, values);
  if (tensor.dtype == io::DType::f64) require_kept(bytes, values, first);
}

template <class Model>
void FloatReader<Model>::require_kept(std::span<const std::byte> exact,
                                      std::span<const float> values, std::size_t first) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = io::load_le<double>(exact.data() + i * sizeof(double));
    if (std::isinf(values[i]) && !std::isinf(x) && !allow_infinite_)
      detail::refuse_value(", which would be infinite, in element " + std::to_string(first + i), x);
    if (!std::isnan(x)) largest_ = std::fmax(largest_, std::abs(x));
    is_zero_ = is_zero_ && values[i] == 0;
  }
}

template <class Model>
void FloatReader<Model>::refuse_zero() const {
  detail::refuse_value(" as the largest magnitude, which would be 0", largest_);
}

}  // namespace tq::store
