# Flags that are legal change no bits. Here the one that g++ 12 is known to go wrong with, where it
# does; `matrix.sh` tries the others by hand.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_executable(tq-test-legal-flags legal_flags/main.cpp)
  target_compile_options(tq-test-legal-flags PRIVATE -O1 -mavx2 -mfma -funsigned-char)
  target_link_libraries(tq-test-legal-flags PRIVATE tq::core tq_warnings)
  add_test(NAME repository/legal_flags COMMAND tq-test-legal-flags)
  set_tests_properties(repository/legal_flags PROPERTIES LABELS repository)
endif()
