// SPDX-License-Identifier: MIT
// tq-run-on <isa> <program> [argument...]: runs a program built for an instruction set, or exits
// with 77 (skipped) on a processor that lacks it.

#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace {

bool can_run(std::string_view isa) {
  __builtin_cpu_init();
  if (isa == "scalar" || isa == "sse2") return true;
  if (isa == "sse4.2") return __builtin_cpu_supports("sse4.2");
  const bool fma_bmi = __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                       __builtin_cpu_supports("bmi2");
  if (isa == "avx2") return fma_bmi && __builtin_cpu_supports("avx2");
  const bool avx512 = fma_bmi && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (isa == "avx512") return avx512;
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
