# A reader of 60 lines of Python that knows docs/file-format.md only reads what the tool writes.
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/repository/file_format)
find_package(Python3 COMPONENTS Interpreter QUIET)
if(TARGET tq AND Python3_Interpreter_FOUND AND NOT CMAKE_CROSSCOMPILING)
  file(STRINGS ${folder}/reader.py lines)
  list(LENGTH lines count)
  if(count GREATER 60)
    message(FATAL_ERROR "${folder}/reader.py: expected at most 60 lines, got ${count}")
  endif()
  add_test(NAME repository/file_format COMMAND Python3::Interpreter -B ${folder}/check.py $<TARGET_FILE:tq>
    ${PROJECT_SOURCE_DIR}/docs/file-format.md ${CMAKE_CURRENT_BINARY_DIR}/output/file_format)
  set_tests_properties(repository/file_format PROPERTIES LABELS repository)
endif()
