// SPDX-License-Identifier: MIT
#pragma once
// WeightParts: what layers take of an encoded tensor.

#include <tq/core/buffer.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/error.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/encoded_codes.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/type_list.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::detail {

// The checked parts of a tensor whose codes are bytes in memory.
template <class Types, class ScaleTypes, Backend B>
class WeightParts {
 public:
  // Throws: `errc::unsupported` for a type that is not listed, and for float offsets where they are
  // not taken; as `decode`.
  WeightParts(const char* function, const EncodedTensor& tensor, bool takes_offsets = false)
      : tensor_(tensor),
        layout_(layout_of(function, tensor, takes_offsets)),
        block_(AnyGranularity(tensor.spec).block(tensor.shape)),
        codes_(layout_.bits < 8 ? tensor.shape.size() : 0) {
    if (layout_.bits < 8) unpack_codes<B>(tensor.codes.span(), codes_.span(), layout_);
    require_codes(bytes(), tensor, layout_);
  }

  // The block that shares parameters.
  [[nodiscard]] const Shape& block() const noexcept { return block_; }
  // Calls f(codes) with a span of the type that they have in memory.
  template <class F>
  decltype(auto) with_codes(F&& f) const {
    return with_small_code(layout_, [&]<class Code>(Code) {
      return f(std::span(reinterpret_cast<const Code*>(bytes().data()), bytes().size()));
    });
  }
  [[nodiscard]] std::vector<float> scales() const { return tensor_.scales.values(); }
  [[nodiscard]] std::vector<std::int32_t> zero_points() const {
    return tensor_.zero_points.values();
  }
  [[nodiscard]] std::vector<float> offsets() const { return tensor_.offsets.values(); }

 private:
  static EncodedLayout layout_of(const char* function, const EncodedTensor& tensor,
                                 bool takes_offsets) {
    const QuantSpec& spec = tensor.spec;
    const bool has_offsets = spec.symmetry == FloatOffset::name;
    if (!has_name(Types{}, spec.type) || (has_offsets && !takes_offsets))
      raise_expected(errc::unsupported, function,
                     {"a scheme of type ", known_names(Types{}),
                      takes_offsets ? "" : ", without float offsets"},
                     {to_string(spec)});
    const auto layout = encoded_layout<Types, ScaleTypes>(spec, tensor.shape);
    require_parts<Types, ScaleTypes>(tensor, layout);
    return layout;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return layout_.bits < 8 ? codes_.span() : tensor_.codes.span();
  }

  const EncodedTensor& tensor_;
  EncodedLayout layout_;
  Shape block_;
  Buffer<std::byte> codes_;  // those of less than 8 bits
};

}  // namespace tq::detail
