// expect: BlockOrder|fills_block
// SPDX-License-Identifier: MIT
#include <tq/layouts/microscaling.hpp>

struct EveryOther {
  static constexpr std::size_t slot(std::size_t i) noexcept { return i / 2 * 2; }
};
using Layout = tq::layouts::microscaling::Interleaved<EveryOther>;
Layout* layout;
