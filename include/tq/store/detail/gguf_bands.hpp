// SPDX-License-Identifier: MIT
#pragma once
// Tensors of a GGUF file in bands of rows, and bands as blocks.

#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/layouts/gguf/best.hpp>
#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/layouts/gguf/quantize.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/store/detail/gguf_input.hpp>
#include <tq/store/detail/gguf_plan.hpp>
#include <tq/store/gguf_options.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tq::store::detail {

// Blocks of the type, or floats. `out` has the size of the values in the type.
inline void encode_gguf(layouts::gguf::Type type, GgufMethod method, std::span<const float> x,
                        std::span<std::uint8_t> out, std::span<const float> importance) {
  namespace gguf = layouts::gguf;
  if (const auto dtype = io::gguf_dtype(type))
    return io::from_float32(x, *dtype, std::as_writable_bytes(out));
  gguf::detail::with_block("tq::write_gguf", type, [&]<class B>(std::type_identity<B>) {
    if constexpr (gguf::QuantizerOf<gguf::best, B>)
      if (method == GgufMethod::best) return gguf::quantize<B>(x, out, gguf::best{}, importance);
    gguf::quantize<B>(x, out, gguf::ggml{}, importance);
  });
}

// The values of blocks or floats of the type.
inline void decode_gguf(layouts::gguf::Type type, std::span<const std::uint8_t> bytes,
                        std::span<float> out) {
  if (const auto dtype = io::gguf_dtype(type))
    return io::to_float32(*dtype, std::as_bytes(bytes), out);
  layouts::gguf::dequantize(type, bytes, out);
}

// Bytes of `count` values in the type. Precondition: they are whole blocks.
[[nodiscard]] constexpr std::size_t gguf_band_bytes(layouts::gguf::Type type, std::size_t count) {
  const layouts::gguf::TypeInfo& info = layouts::gguf::info_of(type);
  return count / info.elements * info.bytes;
}

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
        raise(errc::not_finite, std::string("expected finite values, got ") +
                                    (std::isnan(values_[i]) ? "NaN" : "infinity") + " in element " +
                                    std::to_string(first + i));
  }

  std::unique_ptr<GgufItemReader> reader_;
  std::vector<float> values_;
};

}  // namespace tq::store::detail
