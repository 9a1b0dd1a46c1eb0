// SPDX-License-Identifier: MIT
#pragma once
// Which of the library's tables a program runs. Only the file that tq_add_kernels makes includes
// it.

#include <tq/arch/processor_has.hpp>
#include <tq/ops/backend/library.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace tq::kernel_library {

/// The index of the last table, of those built, that the processor can run, or of the one before it
/// that the environment variable TQ_ISA names. Where that names none, a line on stderr says so.
[[nodiscard]] inline std::size_t select(std::span<const Table* const> built) noexcept {
  std::size_t best = 0;
  for (std::size_t i = 0; i < built.size(); ++i)
    if (arch::processor_has(built[i]->isa)) best = i;
  const char* wanted = std::getenv("TQ_ISA");
  if (wanted == nullptr || *wanted == '\0') return best;
  for (std::size_t i = 0; i < built.size(); ++i)
    if (std::string_view(built[i]->isa) == wanted && arch::processor_has(wanted)) return i;
  std::fputs("tq: expected TQ_ISA to be one of", stderr);
  for (const Table* t : built)
    if (arch::processor_has(t->isa)) std::fprintf(stderr, " %s", t->isa);
  std::fprintf(stderr, ", got \"%s\": running %s\n", wanted, built[best]->isa);
  return best;
}

}  // namespace tq::kernel_library
