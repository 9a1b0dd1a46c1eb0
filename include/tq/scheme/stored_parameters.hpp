// SPDX-License-Identifier: MIT
#pragma once
// StoredParameters: what a file keeps of an encoded tensor beside its codes.

#include <tq/core/detail/require_parameters.hpp>
#include <tq/core/element.hpp>
#include <tq/core/offsets.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/zero_points.hpp>
#include <tq/error.hpp>
#include <tq/scheme/detail/scheme_facts.hpp>
#include <tq/scheme/detail/stored_scales.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/scheme/visit.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

/// Scales, zero points and offsets by their parts, for files of any kind.
struct StoredParameters {
  StoredScales scales;
  std::vector<std::int32_t> zero_points;
  StoredScales offsets;
};

/// The parameters of `tensor`. Throws: `errc::unknown_name`; `errc::bad_argument` if scales or
/// offsets are not stored as the scheme says.
template <class ScaleTypes = TypeList<float>>
[[nodiscard]] StoredParameters stored_parameters(const EncodedTensor& tensor) {
  StoredParameters out;
  out.zero_points = tensor.zero_points.values();
  visit_scale<ScaleTypes>(tensor.spec, [&]<class Scale>() {
    const auto part = [&](const char* what, const StoredNumbers<float>& numbers) {
      return store_scales<Scale>(detail::require_stored<Scales<Scale>>(what, numbers, tensor));
    };
    out.scales = part("scales", tensor.scales);
    if (!tensor.offsets.empty()) out.offsets = part("offsets", tensor.offsets);
  });
  return out;
}

/// Makes them those of `tensor`, as its scheme stores them. How many there are is not looked at.
/// Throws: as `visit` and `restore_scales`; `errc::bad_zero_point` for one that is no code.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
void set_parameters(EncodedTensor& tensor, StoredParameters stored) {
  StoredNumbers<std::int32_t> zero_points;
  const detail::SymmetryFacts& symmetry = detail::scheme_facts<Types>(tensor.spec).symmetry;
  if (symmetry.has_zero_points) {
    detail::require_codes("tq::decode", stored.zero_points, symmetry.codes);
    detail::with_name<void>(tensor.spec.type, Types{}, [&]<class T>(std::type_identity<T>) {
      if constexpr (IntegerElement<T>) zero_points = ZeroPoints<T>(stored.zero_points);
    });
  } else if (!stored.zero_points.empty()) {
    detail::raise_expected(errc::bad_argument, "tq::decode",
                           {"no zero points as ", to_string(tensor.spec)},
                           {stored.zero_points.size()});
  }
  visit_scale<ScaleTypes>(tensor.spec, [&]<class Scale>() {
    auto scales = restore_scales<Scale>(std::move(stored.scales));
    tensor.offsets = {};
    if constexpr (OffsetType<Scale>)
      if (tensor.spec.symmetry == FloatOffset::name)
        tensor.offsets = restore_scales<Scale>(std::move(stored.offsets));
    tensor.scales = std::move(scales);
  });
  tensor.zero_points = std::move(zero_points);
}

}  // namespace tq
