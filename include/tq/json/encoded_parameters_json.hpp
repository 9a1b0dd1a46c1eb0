// SPDX-License-Identifier: MIT
#pragma once
// Parameters of a run-time scheme as JSON.

#include <tq/json/json.hpp>
#include <tq/scheme/detail/scheme_facts.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/scheme/visit.hpp>

namespace tq::io {

/// The scheme, scales and zero points or offsets of an encoded tensor, as `params_to_json` of the
/// static type. Codes do not matter: an `EncodedTensor` of `fitted_parameters` has none. Throws:
/// `errc::unknown_name` for a scheme whose types are not in `Types` and `ScaleTypes`.
template <class Types = all_elements, class ScaleTypes = all_scales>
[[nodiscard]] Json encoded_parameters_to_json(const EncodedTensor& tensor) {
  Json out = detail::scheme_to_json(tensor.spec);
  visit_scale<ScaleTypes>(tensor.spec, [&]<class Scale>() {
    out.update(detail::scales_to_json(*tensor.scales.get_if<Scales<Scale>>()));
    if constexpr (OffsetType<Scale>)
      if (const auto* offsets = tensor.offsets.get_if<Offsets<Scale>>())
        out.update(detail::offsets_to_json(*offsets));
  });
  if (tq::detail::scheme_facts<Types>(tensor.spec).symmetry.has_zero_points)
    out["zero_points"] = tensor.zero_points.values();
  return out;
}

}  // namespace tq::io
