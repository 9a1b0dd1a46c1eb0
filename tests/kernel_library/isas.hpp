// SPDX-License-Identifier: MIT
#pragma once
// for_each_isa: a case for every instruction set of the library that the processor has.

#include <tq/arch/processor_has.hpp>
#include <tq/ops/backend/library.hpp>

#include <array>
#include <cstddef>
#include <string_view>

#include "support/catch.hpp"

namespace kernel_library_test {

// The index of the instruction set that a case tests, in place of the one that the library selects.
inline std::size_t chosen = 0;
inline constexpr std::array isas{TQ_TEST_PRODUCT_ISAS};

template <class Case>
void for_each_isa(const Case& run) {
  for (std::size_t i = 0; i < isas.size(); ++i) {
    const std::string_view isa = isas[i];
    if (!tq::arch::processor_has(isa)) continue;
    chosen = i;
    INFO(isa);
    run(isa);
  }
}

}  // namespace kernel_library_test
