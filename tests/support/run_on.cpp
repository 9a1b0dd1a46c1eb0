// SPDX-License-Identifier: MIT
// tq-run-on <isa> <program> [argument...]: runs a program built for an instruction set, or exits
// with 77 (skipped) on a processor that lacks it.

#include <cpuid.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace {

// Compilers that are supported do not all know the name.
bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
}

bool can_run(std::string_view isa) {
  __builtin_cpu_init();
  if (isa == "scalar" || isa == "sse2") return true;
  if (isa == "sse4.2") return __builtin_cpu_supports("sse4.2");
  const bool fma_bmi = __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                       __builtin_cpu_supports("bmi2");
  const bool avx2 = fma_bmi && __builtin_cpu_supports("avx2");
  if (isa == "avx2") return avx2;
  if (isa == "avx_vnni") return avx2 && has_avx_vnni();
  const bool avx512 = fma_bmi && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (isa == "avx512") return avx512;
  if (isa == "avx512_vnni") return avx512 && __builtin_cpu_supports("avx512vnni");
  if (isa == "zen4")
    return avx512 && __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: tq-run-on <isa> <program> [argument...]\n");
    return 2;
  }
  if (!can_run(argv[1])) {
    std::printf("skipped: this processor cannot run %s code\n", argv[1]);
    return 77;
  }
  execvp(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
