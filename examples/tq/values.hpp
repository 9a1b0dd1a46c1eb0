// SPDX-License-Identifier: MIT
#pragma once
// The values of a stored tensor, piece by piece: as float32, which is what tq quantizes, or as they
// are.

#include "stored_model.hpp"

#include <tq/containers/tensor.hpp>
#include <tq/core/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tool {

// Elements of a tensor that follow one another, row-major.
struct Stretch {
  std::size_t first = 0, count = 0;

  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// Reads the tensors of a model as float32, piece by piece, in memory that is kept from tensor to
// tensor.
class FloatReader {
 public:
  // A stretch of up to `most_held` elements is held until another is read.
  explicit FloatReader(StoredModel& model, bool allow_infinite = false,
                       std::size_t most_held = piece_size)
      : model_(model), allow_infinite_(allow_infinite), most_held_(most_held) {}

  // Calls f(first, values) for the pieces of a tensor. Throws: errc::unsupported where a finite
  // value becomes infinite, unless infinities are allowed, and where all values that are not 0
  // become 0.
  template <class F>
  void for_each(const StoredTensor& tensor, F&& f) {
    for_each(tensor, {0, static_cast<std::size_t>(tensor.elements())}, f);
  }
  // The same of a stretch, from whose beginning `first` counts.
  template <class F>
  void for_each(const StoredTensor& tensor, Stretch stretch, F&& f) {
    const bool is_held = held_ == &tensor && held_stretch_ == stretch;
    const bool holds = stretch.count <= most_held_;
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

 private:
  void begin(std::size_t room);
  void read(const StoredTensor& tensor, std::size_t first, std::span<float> values);
  void require_kept(std::span<const std::byte> exact, std::span<const float> values,
                    std::size_t first);
  [[noreturn]] void refuse_zero() const;

  StoredModel& model_;
  bool allow_infinite_;
  std::size_t most_held_;
  tq::Buffer<float> values_;
  const StoredTensor* held_ = nullptr;  // the tensor of which values_ has a stretch, or null
  Stretch held_stretch_;
  double largest_ = 0;   // magnitude so far, of values that float32 may not hold
  bool is_zero_ = true;  // in float32
};

// True for types that real numbers are stored in.
[[nodiscard]] constexpr bool is_real(tq::io::DType dtype) noexcept {
  return dtype != tq::io::DType::c64 && dtype != tq::io::DType::c128;
}

// Stored elements in the smallest of float, double, std::int64_t and std::uint64_t that has all
// values of their type.
class ExactValues {
 public:
  // Calls f(std::span<const T>). Precondition: is_real.
  template <class F>
  decltype(auto) with(tq::io::DType dtype, std::span<const std::byte> bytes, F&& f) {
    using enum tq::io::DType;
    switch (dtype) {
      case f64: return f(loaded<double>(doubles_, bytes));
      case i32: return f(loaded<std::int32_t>(doubles_, bytes));
      case u32: return f(loaded<std::uint32_t>(doubles_, bytes));
      case i64: return f(loaded<std::int64_t>(integers_, bytes));
      case u64: return f(loaded<std::uint64_t>(naturals_, bytes));
      default: break;
    }
    floats_.resize(bytes.size() * 8 / bits(dtype));
    tq::io::to_float32(dtype, bytes, floats_);
    return f(std::span<const float>(floats_));
  }

 private:
  template <class Stored, class T>
  static std::span<const T> loaded(std::vector<T>& to, std::span<const std::byte> bytes) {
    to.resize(bytes.size() / sizeof(Stored));
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<T>(tq::io::load_le<Stored>(bytes.data() + i * sizeof(Stored)));
    return to;
  }
  std::vector<float> floats_;
  std::vector<double> doubles_;
  std::vector<std::int64_t> integers_;
  std::vector<std::uint64_t> naturals_;
};

}  // namespace tool
