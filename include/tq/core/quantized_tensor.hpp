// SPDX-License-Identifier: MIT
#pragma once
// QuantizedTensor: packed codes together with the shape and parameters that give them meaning.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/kept.hpp>
#include <tq/core/detail/require_fit.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace tq {

namespace detail {
// The text is made in a function that is no template, once for all types.
[[noreturn]] inline void refuse_codes(const Shape& shape, std::size_t expected, std::size_t got) {
  raise_expected(errc::shape_mismatch, "tq::QuantizedTensor",
                 {expected, " bytes of codes for shape ", shape.extents()}, {got});
}
}  // namespace detail

/// Codes of a tensor of `shape()`, row-major, laid out by `Pack`. The bytes are not initialised
/// until an operation (or the user) writes them.
template <AnyParams Params, PackingFor<typename Params::type> Pack = LowFirst>
class QuantizedTensor {
 public:
  using params_type = Params;
  using packing_type = Pack;
  using type = typename Params::type;
  using code_type = typename Params::code_type;

  /// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when `params` do not
  /// fit; `errc::bad_argument` for extents that memory cannot hold.
  QuantizedTensor(const Shape& shape, Params params)
      : QuantizedTensor(shape, std::move(params), Buffer<std::byte>(bytes_of(shape))) {}
  /// Takes codes that are there already. Throws: as above; `errc::shape_mismatch` unless `bytes`
  /// has the packed size.
  QuantizedTensor(const Shape& shape, Params params, Buffer<std::byte> bytes)
      : shape_(shape), params_(std::move(params)), bytes_(std::move(bytes)) {
    const std::size_t size = bytes_of(shape_);
    detail::require_fit("tq::QuantizedTensor", params_, shape_);
    if (bytes_.span().size() != size) detail::refuse_codes(shape_, size, bytes_.span().size());
  }

  QuantizedTensor(const QuantizedTensor&) = default;
  /// A tensor that was moved from is empty.
  QuantizedTensor(QuantizedTensor&& other) noexcept
      : shape_(std::exchange(other.shape_, Shape{0})),
        params_(std::move(other.params_)),
        bytes_(std::move(other.bytes_)) {}
  QuantizedTensor& operator=(QuantizedTensor other) noexcept {
    shape_ = other.shape_;
    params_ = std::move(other.params_);
    bytes_ = std::move(other.bytes_);
    return *this;
  }
  ~QuantizedTensor() = default;

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t size() const noexcept { return shape_.size(); }
  // A temporary gives its parameters, bytes and codes themselves, not views of them.
  [[nodiscard]] const Params& params() const& noexcept TQ_LIFETIMEBOUND { return params_; }
  [[nodiscard]] Params params() && noexcept { return std::move(params_); }
  [[nodiscard]] std::span<std::byte> bytes() & noexcept TQ_LIFETIMEBOUND { return bytes_.span(); }
  [[nodiscard]] std::span<const std::byte> bytes() const& noexcept TQ_LIFETIMEBOUND {
    return bytes_.span();
  }
  [[nodiscard]] auto bytes() && noexcept {
    return detail::kept(std::move(*this), [](const QuantizedTensor& q) { return q.bytes(); });
  }

  /// The codes, where one code is one `code_type`.
  [[nodiscard]] std::span<code_type> codes() & noexcept TQ_LIFETIMEBOUND {
    require_unpacked();
    return {reinterpret_cast<code_type*>(bytes_.data()), size()};
  }
  [[nodiscard]] std::span<const code_type> codes() const& noexcept TQ_LIFETIMEBOUND {
    require_unpacked();
    return {reinterpret_cast<const code_type*>(bytes_.data()), size()};
  }
  [[nodiscard]] auto codes() && noexcept {
    require_unpacked();
    return detail::kept(std::move(*this), [](const QuantizedTensor& q) { return q.codes(); });
  }

  /// The parts of a tensor.
  struct Parts {
    Shape shape;
    Params params;
    Buffer<std::byte> bytes;
  };
  /// Without a copy. The tensor is as one that was moved from.
  [[nodiscard]] Parts release() && {
    return {std::exchange(shape_, Shape{0}), std::move(params_), std::move(bytes_)};
  }

  /// Equal shapes, parameters and bytes.
  friend bool operator==(const QuantizedTensor& a, const QuantizedTensor& b) {
    return a.shape_ == b.shape_ && a.params_ == b.params_ &&
           std::ranges::equal(a.bytes(), b.bytes());
  }

 private:
  static constexpr void require_unpacked() noexcept {
    static_assert(is_unpacked<Pack, type>,
                  "tq::QuantizedTensor::codes: the codes are packed, several in a byte: take "
                  "bytes(), or tq::unpack(q)");
  }
  static std::size_t bytes_of(const Shape& shape) {
    const std::size_t bytes = Pack::template bytes_for<type>(shape.size());
    if (!detail::has_size(shape) || bytes > detail::most_in_memory)
      detail::refuse_extents("tq::QuantizedTensor", shape);
    return bytes;
  }

  Shape shape_;
  Params params_;
  Buffer<std::byte> bytes_;
};

}  // namespace tq
