# What calls take of a stack, at the optimization that users have and with the largest registers of this processor. Frames of
# unoptimized builds are larger.
if(have_umbrella AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT CMAKE_CROSSCOMPILING)
  find_package(Threads REQUIRED)
  add_executable(tq-test-stack repository/stack/main.cpp repository/stack/observers.cpp)
  target_compile_options(tq-test-stack PRIVATE -O2 -march=native)
  target_link_libraries(tq-test-stack PRIVATE tq::core Threads::Threads tq_warnings)
  add_test(NAME repository/stack COMMAND tq-test-stack)
  set_tests_properties(repository/stack PROPERTIES LABELS repository)
endif()
