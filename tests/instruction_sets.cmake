# Instruction sets that arch/, driver/ and kernels/ are tested for: their flags, and what of them is built here.
#
# TQ_TEST_ISAS names some, or `best` for the best one that this processor has, or `others` for all but that and scalar. Of
# `others` one SSE lane is whole, the other has the two lower folders, as kernels see lanes alone; AVX-512 has them too
# where the processor cannot run it, and is compiled only. zen4 is AVX-512 with what Zen 4 and Sapphire Rapids add: the files
# of kernels/ that have code for it. AVX2 is compiled at -O2 with contraction, where g++ makes one
# instruction of products and sums: nothing may depend on that.
#
# Sets tq_isas, tq_isas_bytes (what multiplies bytes beside them), and for each of them tq_isa_flags_<isa>,
# tq_isa_folders_<isa>, and where it is emulated tq_isa_emulated_<isa>.
set(isa_folders arch driver kernels)

set(tq_isa_flags_scalar -DTQ_FORCE_SCALAR)
set(tq_isa_flags_sse2 "")
set(tq_isa_flags_sse4.2 -msse4.2)
set(tq_isa_flags_avx2 -mavx2 -mfma -mbmi -mbmi2)
set(tq_isa_flags_avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma -mbmi -mbmi2)
set(tq_isa_flags_zen4 ${tq_isa_flags_avx512} -mavx512ifma -mavx512vbmi -mavx512bf16 -mavx512vnni)  # Sapphire Rapids as well
# What multiplies bytes beside these.
set(tq_isa_flags_avx512_vnni ${tq_isa_flags_avx512} -mavx512vnni)
set(tq_isa_flags_avx_vnni ${tq_isa_flags_avx2} -mavxvnni)
set(tq_isa_flags_neon_dot -march=armv8.2-a+dotprod)
set(tq_isa_flags_neon_i8mm -march=armv8.6-a+i8mm)
set(tq_isa_emulated_sse4.2 Nehalem)
set(tq_isa_emulated_avx2 Haswell)

set(tq_isas native)
set(tq_isas_bytes "")
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")  # the emulator has both
    set(tq_isas_bytes neon_dot neon_i8mm)
  endif()
  return()
endif()
if("best" IN_LIST TQ_TEST_ISAS)
  set(tq_isas_bytes avx512_vnni avx_vnni)
endif()

add_executable(tq-run-on support/run_on.cpp)
target_link_libraries(tq-run-on PRIVATE tq_warnings)
target_compile_features(tq-run-on PRIVATE cxx_std_20)
if(TQ_TEST_QEMU)
  find_program(TQ_QEMU_X86_64 NAMES qemu-x86_64 qemu-x86_64-static)
endif()

# The same program, now.
set(run_on ${CMAKE_CURRENT_BINARY_DIR}/configured/tq-run-on)
try_compile(compiled ${CMAKE_CURRENT_BINARY_DIR}/configured SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/support/run_on.cpp
  CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON COPY_FILE ${run_on} OUTPUT_VARIABLE problem)
if(NOT compiled)
  message(FATAL_ERROR "tests/support/run_on.cpp does not compile: ${problem}")
endif()
set(runnable "")
foreach(isa IN ITEMS scalar sse2 sse4.2 avx2 avx512 zen4)
  set(tq_isa_folders_${isa} ${isa_folders})
  execute_process(COMMAND ${run_on} ${isa} true RESULT_VARIABLE code OUTPUT_QUIET)
  if(code EQUAL 0)
    list(APPEND runnable ${isa})
  endif()
endforeach()
set(best "")
foreach(isa IN ITEMS scalar sse2 sse4.2 avx2 avx512)
  if(isa IN_LIST runnable)
    set(best ${isa})
  endif()
endforeach()
message(STATUS "tq: the best instruction set of this processor that there are tests for is ${best}")

set(tq_isas "")
foreach(isa IN LISTS TQ_TEST_ISAS)
  if(isa STREQUAL "best")
    list(APPEND tq_isas ${best})
  elseif(isa STREQUAL "others")
    list(APPEND tq_isas sse2 sse4.2 avx2 avx512)
    list(REMOVE_ITEM tq_isas ${best})
    set(tq_isa_folders_sse2 arch driver)
    if(NOT "avx512" IN_LIST runnable)
      set(tq_isa_folders_avx512 arch driver)
    endif()
    if("zen4" IN_LIST runnable)
      list(APPEND tq_isas zen4)
    endif()
  elseif(DEFINED tq_isa_flags_${isa})
    list(APPEND tq_isas ${isa})
  else()
    message(FATAL_ERROR "TQ_TEST_ISAS: expected scalar, sse2, sse4.2, avx2, avx512, zen4, best or others, got \"${isa}\"")
  endif()
endforeach()
list(REMOVE_DUPLICATES tq_isas)
