# Examples use public names only, and proof that a private one and metadata that are typed by hand are noticed.
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/repository/examples)
add_test(NAME repository/examples COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}/examples -P ${folder}/check.cmake)
add_test(NAME repository/examples/name COMMAND ${CMAKE_COMMAND} -DROOT=${folder}/bad_name
  "-DEXPECT=main\\.cpp: expected 0 names of a detail namespace, got 1" -P ${folder}/check.cmake)
add_test(NAME repository/examples/metadata COMMAND ${CMAKE_COMMAND} -DROOT=${folder}/bad_metadata
  "-DEXPECT=main\\.cpp: types the metadata" -P ${folder}/check.cmake)
set_tests_properties(repository/examples repository/examples/name repository/examples/metadata PROPERTIES LABELS repository)
