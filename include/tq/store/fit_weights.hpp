// SPDX-License-Identifier: MIT
#pragma once
// fit_weights: parameters for the weights that a coder has observed.

#include <tq/core/quant_params.hpp>
#include <tq/error.hpp>
#include <tq/scheme/piece_coder.hpp>

namespace tq::store {

/// Makes the parameters of a `PieceCoder`. Throws: as `PieceCoder::fit`; an error about values that
/// are not finite names the options that help.
template <class Coder>
void fit_weights(Coder& coder, bool allow_nonfinite) {
  try {
    coder.fit(allow_nonfinite ? NonFinite::skip : NonFinite::raise);
  } catch (const error& e) {
    if (e.code() != errc::not_finite) throw;
    tq::detail::raise_text(e.code(), {e.what(), "; `exclude` it, or `allow_nonfinite`"});
  }
}

}  // namespace tq::store
