// SPDX-License-Identifier: MIT
#pragma once
// processor_has: whether the processor runs an instruction set.

#include <tq/config.hpp>

#include <string_view>

namespace tq::arch {

/// Whether the processor, and the system, have all that kernels for `isa` are compiled with: one of
/// sse2, sse4_2, avx2, avx512, avx512vnni, neon64, scalar. Other names: false.
[[nodiscard]] inline bool processor_has(std::string_view isa) noexcept {
  if (isa == "scalar") return true;
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  const auto all = [](auto... has) { return (... && (has != 0)); };
  if (isa == "sse2") return true;
  if (isa == "sse4_2")
    return all(__builtin_cpu_supports("sse4.2"), __builtin_cpu_supports("popcnt"));
  const bool avx2 = all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"),
                        __builtin_cpu_supports("bmi"), __builtin_cpu_supports("bmi2"));
  if (isa == "avx2") return avx2;
  const bool avx512 =
      avx2 && all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512cd"),
                  __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512bw"),
                  __builtin_cpu_supports("avx512vl"));
  if (isa == "avx512") return avx512;
  if (isa == "avx512vnni") return avx512 && all(__builtin_cpu_supports("avx512vnni"));
#elif defined(_M_X64)
  if (isa == "sse2") return true;
#elif defined(__aarch64__) || defined(_M_ARM64)
  if (isa == "neon64") return true;
#endif
  return false;
}

}  // namespace tq::arch
