# The fuzz targets. A program of all of them replays the corpora, by any compiler; with TQ_FUZZ (clang) each
# becomes a program of libFuzzer, too. See README.md.
option(TQ_FUZZ "Also build the fuzz targets for libFuzzer (clang)" OFF)

set(fuzz_dir ${CMAKE_CURRENT_LIST_DIR})
file(GLOB sources CONFIGURE_DEPENDS ${fuzz_dir}/*.fuzz.cpp)
tq_filter_sources(usable targets ${sources})

# With the kernels of an instruction set that `tq-run-on` asks the processor for.
set(fuzz_flags "")
set(fuzz_run_on "")
if(TARGET tq-run-on)
  list(GET tq_isas 0 isa)
  set(fuzz_flags ${tq_isa_flags_${isa}})
  set(fuzz_run_on tq-run-on ${isa})
endif()

tq_batches(batches fuzz ${tests_dir} SPACED ${usable})
add_executable(tq-fuzz-replay ${fuzz_dir}/replay.cpp ${batches})
target_include_directories(tq-fuzz-replay PRIVATE ${tests_dir})
target_link_libraries(tq-fuzz-replay PRIVATE tq::core ${targets} tq_warnings)
target_compile_options(tq-fuzz-replay PRIVATE ${quick_to_compile} ${fuzz_flags})

if(TQ_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TQ_FUZZ needs clang, and its runtime for fuzzers (sh cmake/deps.sh --ci)")
  endif()
  add_custom_target(tq-fuzz)
endif()

foreach(source IN LISTS usable)
  get_filename_component(name ${source} NAME)
  string(REPLACE ".fuzz.cpp" "" name ${name})
  add_test(NAME fuzz/${name}
    COMMAND ${fuzz_run_on} $<TARGET_FILE:tq-fuzz-replay> ${name} ${fuzz_dir}/corpus/${name})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
  if(TQ_FUZZ)
    add_executable(tq-fuzz-${name} ${fuzz_dir}/libfuzzer.cpp ${source})
    target_include_directories(tq-fuzz-${name} PRIVATE ${tests_dir})
    target_link_libraries(tq-fuzz-${name} PRIVATE tq::core ${targets} tq_warnings)
    target_compile_options(tq-fuzz-${name} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(tq-fuzz-${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(tq-fuzz tq-fuzz-${name})
  endif()
endforeach()
