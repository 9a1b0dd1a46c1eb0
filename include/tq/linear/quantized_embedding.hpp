// SPDX-License-Identifier: MIT
#pragma once
// QuantizedEmbedding: a table of rows of 8, 4 or 2 bits, that are looked up, or summed in bags.

#include <tq/core/detail/emptied.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/library_embeddings.hpp>
#include <tq/linear/detail/require_weights.hpp>
#include <tq/linear/detail/weight_extents.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/read_floats.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

/// A vector, span or array of int32 or int64.
template <class R>
concept IndexRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                     (std::same_as<std::ranges::range_value_t<R>, std::int32_t> ||
                      std::same_as<std::ranges::range_value_t<R>, std::int64_t>);

/// How the rows of a bag are combined.
enum class BagMode : std::uint8_t {
  sum,
  mean  ///< the sum times 1 / the number of rows, also of weighted ones; 0 of none
};

/// Options of `QuantizedEmbedding::bags`.
struct BagOptions {
  BagMode mode = BagMode::sum;
  /// Whether the last offset is the end of the last bag, and not the beginning of one more.
  bool include_last_offset = false;
  /// Empty, or a factor for the row of each index.
  std::span<const float> weights{};
};

namespace detail {
// Scale and bias of a row, behind its codes, as `Stored`: float or float16, little-endian.
template <class Stored>
struct RowScale {
  using Bits = std::conditional_t<std::same_as<Stored, float>, std::uint32_t, std::uint16_t>;
  static constexpr std::size_t bytes = 2 * sizeof(Bits);

  static float get(const std::byte* from) noexcept {
    Bits bits = 0;
    for (std::size_t i = 0; i < sizeof(Bits); ++i)
      bits = static_cast<Bits>(bits | static_cast<Bits>(from[i]) << (8 * i));
    if constexpr (std::same_as<Stored, float>) {
      return std::bit_cast<float>(bits);
    } else {
      Stored value;
      value.code = bits;
      return static_cast<float>(value);
    }
  }
  static void put(float value, std::byte* to) noexcept {
    Bits bits = 0;
    if constexpr (std::same_as<Stored, float>) bits = std::bit_cast<Bits>(value);
    else bits = Stored(value).code;
    for (std::size_t i = 0; i < sizeof(Bits); ++i)
      to[i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  }
};

// Scale and bias of a row of float32, and what (x - bias) is multiplied by for its codes.
struct RowFit {
  float scale, bias, inverse;
};
[[nodiscard]] inline RowFit fit_row_8bit(float low, float high) noexcept {
  const float range = high - low;
  return {range / 255.0f, low, 255.0f / (range + 1e-8f)};
}
template <int Bits>
[[nodiscard]] RowFit fit_row_half(float low, float high) noexcept {
  const auto half = [](float v) { return static_cast<float>(float16(v)); };
  const float bias = half(low), range = high - bias;
  float scale = range == 0 ? 1.0f : half(range / ((1 << Bits) - 1));
  if (scale == 0) scale = 1.0f;
  return {scale, bias, 1.0f / scale};
}
}  // namespace detail

/// Rows of `width()` codes, lowest bits first, each with a scale and a bias behind it: x = code *
/// scale + bias. Both are float32 with 8 bits, float16 with 4 and 2: FBGEMM's fused rows, byte for
/// byte, as torch.ops.quantized.embedding_bag_byte_prepack and _4bit_prepack make them. A table
/// that was moved from has no rows: `gather` and `bag` throw `errc::shape_mismatch`. Source:
/// FBGEMM, QuantUtils.cc and RefImplementations.cc.
template <int Bits>
  requires(Bits == 8 || Bits == 4 || Bits == 2)
class QuantizedEmbedding {
  using Scale = detail::RowScale<std::conditional_t<Bits == 8, float, float16>>;

 public:
  /// Quantizes floats of shape [rows, width]. Throws: `errc::shape_mismatch` for another rank or
  /// rows of nothing; `errc::bad_argument` for extents that memory cannot hold; `errc::not_finite`,
  /// with the row, for values that are not; `errc::bad_scale`, with the row, where its range leaves
  /// the type of its scale.
  explicit QuantizedEmbedding(const ConstTensorView& rows) {
    if (rows.shape().rank() != 2 || rows.shape()[1] == 0)
      detail::raise_expected(errc::shape_mismatch, name, {"floats of shape [rows, width]"},
                             {rows.shape().extents()});
    detail::require_weight_extents(name, rows.shape());
    width_ = rows.shape()[1];
    bytes_.resize(rows.shape()[0] * row_bytes());
    std::vector<float> row(width_);
    for (std::size_t r = 0; r < rows.shape()[0]; ++r) {
      for (std::size_t k = 0; k < width_; ++k)
        row[k] = rows.data()[static_cast<std::ptrdiff_t>(r) * rows.stride(0) +
                             static_cast<std::ptrdiff_t>(k) * rows.stride(1)];
      quantize_row(r, row);
    }
  }
  /// The same of tensors of any kind and real numbers, which count as float32.
  template <Readable X>
    requires(!std::convertible_to<const X&, ConstTensorView>)
  explicit QuantizedEmbedding(const X& rows)
      : QuantizedEmbedding(ConstTensorView(detail::read_floats(name, rows).view())) {}
  /// Takes a copy of rows of `width` codes. Throws: `errc::shape_mismatch` unless they are whole
  /// rows of something that memory can hold; `errc::bad_scale`, with the row, where scale or bias
  /// are not finite.
  QuantizedEmbedding(std::size_t width, std::span<const std::byte> rows)
      : width_(width), bytes_(rows.begin(), rows.end()) {
    if (width > detail::most_in_memory)
      detail::raise_expected(errc::shape_mismatch, name,
                             {"rows of at most ", detail::most_in_memory, " codes"}, {width});
    if (width == 0 || rows.size() % row_bytes() != 0)
      detail::raise_expected(errc::shape_mismatch, name,
                             {"whole rows of ", row_bytes(), " bytes, of ", width, " codes"},
                             {rows.size(), " bytes"});
    for (std::size_t r = 0; r < size(); ++r) require_finite(r, scale(r), bias(r));
  }

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / row_bytes(); }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return code_bytes() + Scale::bytes; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] float scale(std::size_t row) const noexcept {
    return Scale::get(at(row) + code_bytes());
  }
  [[nodiscard]] float bias(std::size_t row) const noexcept {
    return Scale::get(at(row) + code_bytes() + Scale::bytes / 2);
  }

  /// Writes row indices[i] to out[i], for `out` of shape [indices, width]: fma(scale, code, bias),
  /// one rounding. Throws: `errc::shape_mismatch`; `errc::bad_argument` for an index that is no
  /// row, with its place. Nothing is written then.
  template <class Arch = default_arch, IndexRange Indices,
            detail::OutputOf<float> Y = TensorView<float>, class... O>
  void gather(const Indices& indices, Y&& out, const O&... options) const {
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::QuantizedEmbedding::gather: the output is a temporary: give it a name "
                  "first");
    const TensorView<float> y = detail::output<float>(std::forward<Y>(out));
    detail::require_weights(name, width_ != 0);
    require_rows(indices);
    detail::require_shape(name, "an output", Shape{std::ranges::size(indices), width_}, y.shape());
    const detail::EmbeddingRow<Arch, Bits> add_row{};
    run(y, detail::executor_of(options...), [&](std::size_t i, float* sums) {
      add(add_row, static_cast<std::size_t>(std::ranges::data(indices)[i]), 1.0f, sums);
    });
  }

  /// Writes to out[b] the sum of the rows of bag b, which begins at indices[offsets[b]] and ends
  /// where the next one begins, in order, by sum = fma(scale * weight, code, sum + bias * weight).
  /// Throws: `errc::shape_mismatch`; `errc::bad_argument` for an index that is no row, and for
  /// offsets that do not begin with 0, go back, or lead beyond the indices. Nothing is written
  /// then.
  template <class Arch = default_arch, IndexRange Indices, IndexRange Offsets,
            detail::OutputOf<float> Y = TensorView<float>, class... O>
  void bag(const Indices& indices, const Offsets& offsets, Y&& out, const BagOptions& options = {},
           const O&... more) const {
    static_assert(!detail::is_temporary_owner<Y>,
                  "tq::QuantizedEmbedding::bag: the output is a temporary: give it a name first");
    const TensorView<float> y = detail::output<float>(std::forward<Y>(out));
    detail::require_weights(name, width_ != 0);
    const std::size_t count = std::ranges::size(indices);
    const std::vector<std::size_t> bounds = bag_bounds(offsets, count, options);
    require_rows(indices);
    if (!options.weights.empty())
      detail::require_size(name, "weights, one for each index,", count, options.weights.size());
    detail::require_shape(name, "an output", Shape{bounds.size() - 1, width_}, y.shape());
    const detail::EmbeddingRow<Arch, Bits> add_row{};
    run(y, detail::executor_of(more...), [&](std::size_t b, float* sums) {
      const std::size_t rows = bounds[b + 1] - bounds[b];
      for (std::size_t i = bounds[b]; i < bounds[b + 1]; ++i)
        add(add_row, static_cast<std::size_t>(std::ranges::data(indices)[i]),
            options.weights.empty() ? 1.0f : options.weights[i], sums);
      if (options.mode == BagMode::mean && rows != 0) {
        const float share = 1.0f / static_cast<float>(rows);
        for (std::size_t k = 0; k < width_; ++k) sums[k] *= share;
      }
    });
  }

 private:
  static constexpr const char* name = "tq::QuantizedEmbedding";
  static constexpr std::size_t codes_of_byte = 8 / Bits;
  static constexpr unsigned last_code = (1u << Bits) - 1;

  [[nodiscard]] std::size_t code_bytes() const noexcept {
    return detail::units_for(width_, codes_of_byte);
  }
  [[nodiscard]] const std::byte* at(std::size_t row) const noexcept {
    return bytes_.data() + row * row_bytes();
  }

  static void require_finite(std::size_t row, float scale, float bias) {
    if (!std::isfinite(scale) || !std::isfinite(bias))
      detail::raise_expected(errc::bad_scale, name, {"a finite scale and bias"},
                             {scale, " and ", bias, " of row ", row});
  }

  void quantize_row(std::size_t r, std::span<const float> row) {
    for (const float v : row)
      if (!std::isfinite(v))
        detail::raise_expected(errc::not_finite, name, {"finite values"}, {v, " in row ", r});
    const auto [low, high] = std::ranges::minmax(row);
    detail::RowFit fit;
    if constexpr (Bits == 8) fit = detail::fit_row_8bit(low, high);
    else fit = detail::fit_row_half<Bits>(low, high);
    require_finite(r, fit.scale, fit.bias);
    std::byte* to = bytes_.data() + r * row_bytes();
    for (std::size_t k = 0; k < row.size(); ++k) {
      const float steps = (row[k] - fit.bias) * fit.inverse;
      const auto code = static_cast<unsigned>(
          std::nearbyint(std::clamp(steps, 0.0f, static_cast<float>(last_code))));
      to[k / codes_of_byte] |= static_cast<std::byte>(code << (k % codes_of_byte * Bits));
    }
    Scale::put(fit.scale, to + code_bytes());
    Scale::put(fit.bias, to + code_bytes() + Scale::bytes / 2);
  }

  template <IndexRange Indices>
  void require_rows(const Indices& indices) const {
    for (std::size_t i = 0; i < std::ranges::size(indices); ++i) {
      const std::int64_t index = std::ranges::data(indices)[i];
      if (index < 0 || static_cast<std::uint64_t>(index) >= size())
        detail::raise_expected(errc::bad_argument, name, {"indices from 0 to below ", size()},
                               {index, " at ", i});
    }
  }

  // Where bags begin, and, last, where the last one ends.
  template <IndexRange Offsets>
  static std::vector<std::size_t> bag_bounds(const Offsets& offsets, std::size_t indices,
                                             const BagOptions& options) {
    std::int64_t before = 0;
    std::vector<std::size_t> bounds;
    for (const std::int64_t offset : offsets) {
      if (offset < before || (bounds.empty() && offset != 0) ||
          static_cast<std::uint64_t>(offset) > indices)
        detail::raise_expected(errc::bad_argument, name,
                               {"offsets that rise from 0 to at most ", indices},
                               {offset, " at ", bounds.size()});
      before = offset;
      bounds.push_back(static_cast<std::size_t>(offset));
    }
    if (!options.include_last_offset && (!bounds.empty() || indices == 0))
      bounds.push_back(indices);
    if (bounds.empty() || bounds.back() != indices)
      detail::raise_expected(errc::bad_argument, name, {"every index in a bag"},
                             {"offsets up to ", before, " of ", indices, " indices"});
    return bounds;
  }

  // Adds a row to sums.
  template <class Arch>
  void add(const detail::EmbeddingRow<Arch, Bits>& add_row, std::size_t row, float weight,
           float* sums) const noexcept {
    const float s = weight * scale(row), b = detail::uncontracted(weight * bias(row));
    add_row(reinterpret_cast<const std::uint8_t*>(at(row)), width_, s, b, sums);
  }

  // Calls make(i, sums) for every row of y, which become it, and begin with 0.
  template <Executor E, class Make>
  void run(const TensorView<float>& y, const E& executor, const Make& make) const {
    constexpr std::size_t at_once = 64;
    const std::size_t rows = y.shape()[0];
    const bool is_dense = y.stride(1) == 1;
    executor((rows + at_once - 1) / at_once, [&](std::size_t task) {
      std::vector<float> apart(is_dense ? std::size_t{0} : std::size_t{width_});
      for (std::size_t i = task * at_once; i < std::min(rows, (task + 1) * at_once); ++i) {
        float* const to = y.data() + static_cast<std::ptrdiff_t>(i) * y.stride(0);
        float* const sums = is_dense ? to : apart.data();
        std::fill_n(sums, width_, 0.0f);
        make(i, sums);
        for (std::size_t k = 0; k < apart.size(); ++k)
          to[static_cast<std::ptrdiff_t>(k) * y.stride(1)] = apart[k];
      }
    });
  }

  detail::Emptied<std::size_t> width_;
  std::vector<std::byte> bytes_;
};

}  // namespace tq
