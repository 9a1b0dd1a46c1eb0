// SPDX-License-Identifier: MIT
#pragma once
// RowLoss: the losses of a row of weights.

namespace tq::detail {

/// The losses of errors e of a row: e (H + lambda I) e^T, and e H e^T.
struct RowLoss {
  double damped = 0, plain = 0;
};

}  // namespace tq::detail
