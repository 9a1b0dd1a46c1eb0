// expect: tq needs AVX-512DQ where there is AVX-512BW
// SPDX-License-Identifier: MIT
// As a compiler defines them with -mavx512bw and nothing else.
#undef __AVX512DQ__
#undef __AVX512BW__
#define __AVX512BW__ 1
#include <tq/arch/isa.hpp>
