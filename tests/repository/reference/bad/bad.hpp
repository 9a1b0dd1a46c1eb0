// SPDX-License-Identifier: MIT
#pragma once
// Entities without a text, and a broken link.

/// A namespace.
namespace tq {

struct NoText {
  int member = 0;  ///< a number
};

void no_text();

/// See \ref tq::nowhere.
void link();

}  // namespace tq
