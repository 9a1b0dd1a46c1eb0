// expect: SymmetryFor
// SPDX-License-Identifier: MIT
#include <tq/core/quant_params.hpp>

// An unsigned type has no narrow range.
using Params = tq::QuantParams<tq::uint8, tq::PerTensor, tq::SymmetricNarrow>;
Params f() { return Params(1.0f); }
