# tq without exceptions and run-time type information; the program says what an error does.
if(have_umbrella)
  add_executable(tq-test-noexcept repository/noexcept/main.cpp)
  target_compile_options(tq-test-noexcept PRIVATE -fno-exceptions -fno-rtti)
  target_link_libraries(tq-test-noexcept PRIVATE tq::core tq_warnings)
  add_test(NAME repository/noexcept COMMAND tq-test-noexcept)
  set_tests_properties(repository/noexcept PROPERTIES LABELS repository)
endif()
