# No function has more than 7 arguments, and proof that one with 8 is noticed.
set(check ${CMAKE_CURRENT_SOURCE_DIR}/repository/arguments/check.cmake)
add_test(NAME repository/arguments COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}/include/tq -P ${check})
add_test(NAME repository/arguments/noticed COMMAND ${CMAKE_COMMAND}
  -DROOT=${CMAKE_CURRENT_SOURCE_DIR}/repository/arguments/bad "-DEXPECT=bad\\.hpp: more than 7 arguments: eight" -P ${check})
set_tests_properties(repository/arguments repository/arguments/noticed PROPERTIES LABELS repository)
