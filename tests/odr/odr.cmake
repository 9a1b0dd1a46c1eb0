# Two translation units that both include everything link into one program: nothing lacks `inline`.
if(have_umbrella)
  add_executable(tq-test-odr odr/main.cpp odr/other.cpp)
  target_compile_options(tq-test-odr PRIVATE -O0)
  target_link_libraries(tq-test-odr PRIVATE tq::core tq_warnings)
  add_test(NAME repository/odr COMMAND tq-test-odr)
  set_tests_properties(repository/odr PROPERTIES LABELS repository)
endif()
