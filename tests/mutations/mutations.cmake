# The table of mutations, which run.py tries by hand, is of the code of today.
add_test(NAME repository/mutations COMMAND ${CMAKE_COMMAND} -DTABLE=${CMAKE_CURRENT_SOURCE_DIR}/mutations/table.json
  -DHEADERS=${PROJECT_SOURCE_DIR}/include/tq -P ${CMAKE_CURRENT_SOURCE_DIR}/mutations/check.cmake)
set_tests_properties(repository/mutations PROPERTIES LABELS repository)
