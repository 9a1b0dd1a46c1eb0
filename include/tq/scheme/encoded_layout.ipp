// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/scheme/encoded_layout.hpp.

#include <tq/core/granularity.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/type_list.hpp>

namespace tq {

TQ_API std::size_t EncodedLayout::zero_point_bytes() const noexcept {
  return has_zero_points ? code_size() : 0;
}

TQ_API std::size_t EncodedLayout::bytes() const noexcept {
  const std::size_t count = scales.size(), numbers = stored.bytes(count);
  return code_bytes + numbers + (has_offsets ? numbers : 0) + count * zero_point_bytes();
}

TQ_API bool EncodedLayout::allows_scale(float s) const noexcept {
  return detail::valid_scale(s) ||
         (kind == ElementKind::coded && (s == 0.0f || (stored.has_nan && s != s)));
}

namespace detail {

TQ_API void require_count(const char* what, std::size_t expected, std::size_t got,
                          const EncodedTensor& t) {
  if (expected != got)
    raise_expected(
        errc::shape_mismatch, "tq::decode",
        {expected, " ", what, " for shape ", t.shape.extents(), " as ", to_string(t.spec)}, {got});
}

TQ_API void require_encodable(const TypeFacts& type, const QuantSpec& spec) {
  const bool by_torch =
      spec.numerics == torch_preset::name || spec.numerics == torch_2_11_preset::name;
  const char* expected = nullptr;
  if (type.has_grid && multiplies(spec)) expected = "exact, onnx or ocp";
  else if (type.kind == ElementKind::coded && by_torch)
    expected = "exact, onnx, ocp or bitsandbytes";
  if (expected != nullptr)
    raise_expected(errc::unsupported, "tq::encode", {"numerics ", expected, " for ", spec.type},
                   {in_quotes(spec.numerics), " (tq::quantize with static types has it)"});
}

}  // namespace detail

}  // namespace tq
