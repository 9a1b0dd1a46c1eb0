# Debug builds for AVX-512: xsimd 8 has functions that g++ compiles only with optimization. Building this is the test.
if(have_umbrella AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_library(tq-test-unoptimized OBJECT repository/unoptimized/casts.cpp)
  target_compile_options(tq-test-unoptimized PRIVATE -O0 ${tq_isa_flags_avx512})
  target_link_libraries(tq-test-unoptimized PRIVATE tq::core tq_warnings)
endif()
