// SPDX-License-Identifier: MIT
#pragma once
// Tensors of a GGUF file in bands of rows.

#include <tq/error.hpp>
#include <tq/store/detail/gguf_input.hpp>
#include <tq/store/detail/gguf_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace tq::store::detail {

// Reads tensors one after the other, in memory that is kept.
class GgufBands {
 public:
  static constexpr std::uint64_t band = std::uint64_t{1} << 18;  // elements, about

  explicit GgufBands(const GgufInput& input) : reader_(input.reader()) {}

  // Calls f(values, importance) for bands of whole rows in their order; the importance is that of
  // the columns of the rows, or empty. Throws: errc::not_finite, naming the element; as reading.
  template <class F>
  void for_each(const GgufJob& job, F&& f) {
    const GgufItem& item = *job.item;
    const std::size_t columns = item.to.shape.size() < 2 ? 1 : item.to.shape.back();
    const std::uint64_t matrix = item.matrix_elements(), all = item.elements();
    // Whole units of rows, and a multiple of 8 of them, of about `band` elements.
    const std::uint64_t unit = std::lcm(std::uint64_t{8}, std::uint64_t{item.unit}) * columns;
    const std::uint64_t most =
        std::max<std::uint64_t>(1, band / std::max<std::uint64_t>(1, unit)) * unit;
    for (std::uint64_t begin = 0; begin < all; begin += matrix)
      for (std::uint64_t first = 0; first < matrix; first += most) {
        read(item, begin + first,
             static_cast<std::size_t>(std::min<std::uint64_t>(most, matrix - first)));
        f(std::span<const float>(values_), importance_of(job, begin / matrix));
      }
  }
  [[nodiscard]] GgufItemReader& reader() noexcept { return *reader_; }

 private:
  // The importance of the inputs of one matrix.
  [[nodiscard]] static std::span<const float> importance_of(const GgufJob& job,
                                                            std::uint64_t matrix) {
    const std::size_t n = job.item->to.columns();
    return job.importance.empty() ? job.importance
                                  : job.importance.subspan(static_cast<std::size_t>(matrix) * n, n);
  }
  void read(const GgufItem& item, std::uint64_t first, std::size_t count) {
    values_.resize(count);
    reader_->read(item, first, values_);
    for (std::size_t i = 0; i < count; ++i)
      if (!std::isfinite(values_[i]))
        tq::detail::raise_expected(
            errc::not_finite, "", {"finite values"},
            {std::isnan(values_[i]) ? "NaN" : "infinity", " in element ", first + i});
  }

  std::unique_ptr<GgufItemReader> reader_;
  std::vector<float> values_;
};

}  // namespace tq::store::detail
