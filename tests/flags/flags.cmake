# Flags that change what plain C++ means, and that no macro or none that matters tells of: the results must be the same.
# g++ 12 takes bytes of SSE4.1 and AVX2 for chars in a few intrinsics. The matrix of all flags is run by hand: run.py.
foreach(isa IN ITEMS sse4.2 avx2)
  if(NOT TARGET tq-run-on)
    break()
  endif()
  add_executable(tq-test-flags-${isa} flags/casts.cpp)
  target_compile_options(tq-test-flags-${isa} PRIVATE ${quick_to_compile} ${tq_isa_flags_${isa}} -funsigned-char)
  target_link_libraries(tq-test-flags-${isa} PRIVATE tq::core tq_warnings)
  add_test(NAME repository/flags/unsigned_char/${isa} COMMAND tq-run-on ${isa} $<TARGET_FILE:tq-test-flags-${isa}>)
  set_tests_properties(repository/flags/unsigned_char/${isa} PROPERTIES LABELS repository SKIP_RETURN_CODE 77)
  add_dependencies(tq-test-flags-${isa} tq-run-on)
endforeach()

# The programs that are run by hand compile with the headers of today.
foreach(folder IN ITEMS flags uninitialised)
  add_test(NAME repository/by_hand/${folder} COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -DTQ_FORCE_SCALAR
    -I${PROJECT_SOURCE_DIR}/include -I${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/kernels.cpp)
  set_tests_properties(repository/by_hand/${folder} PROPERTIES LABELS repository)
endforeach()
