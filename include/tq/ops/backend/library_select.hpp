// SPDX-License-Identifier: MIT
#pragma once
// Which of the library's tables a program runs. Only the file that tq_add_kernels makes includes
// it.

#include <tq/arch/processor_has.hpp>
#include <tq/ops/backend/library.hpp>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace tq::kernel_library {

/// The last table, of those built, that the processor can run, or the one before it that the
/// environment variable TQ_ISA names. Where that names none, a line on stderr says so.
[[nodiscard]] inline const Table& select(std::span<const Table* const> built) noexcept {
  const Table* best = built.front();
  for (const Table* t : built)
    if (arch::processor_has(t->isa)) best = t;
  const char* wanted = std::getenv("TQ_ISA");
  if (wanted == nullptr || *wanted == '\0') return *best;
  for (const Table* t : built)
    if (std::string_view(t->isa) == wanted && arch::processor_has(t->isa)) return *t;
  std::fputs("tq: expected TQ_ISA to be one of", stderr);
  for (const Table* t : built)
    if (arch::processor_has(t->isa)) std::fprintf(stderr, " %s", t->isa);
  std::fprintf(stderr, ", got \"%s\": running %s\n", wanted, best->isa);
  return *best;
}

}  // namespace tq::kernel_library
