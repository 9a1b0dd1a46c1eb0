# The tables of docs/guides/performance.md are those of the recorded run, and its maker does what its fixture says.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME repository/performance
    COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/repository/performance/check.py ${PROJECT_SOURCE_DIR}/benchmarks/performance)
  set_tests_properties(repository/performance PROPERTIES LABELS repository)
endif()
