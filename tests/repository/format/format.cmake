# Every source file is as clang-format writes it: `.clang-format`, by the version that all use, since
# others break lines elsewhere. Where that version is not found there is no such test.
set(TQ_CLANG_FORMAT_VERSION 19)
find_program(TQ_CLANG_FORMAT NAMES clang-format-${TQ_CLANG_FORMAT_VERSION} clang-format)
set(version "none")
if(TQ_CLANG_FORMAT)
  execute_process(COMMAND ${TQ_CLANG_FORMAT} --version OUTPUT_VARIABLE said)
  string(REGEX MATCH "version ([0-9]+)" found "${said}")
  set(version "${CMAKE_MATCH_1}")
endif()
if(version EQUAL TQ_CLANG_FORMAT_VERSION)
  set(check ${CMAKE_CURRENT_SOURCE_DIR}/repository/format/check.cmake)
  add_test(NAME repository/format
    COMMAND ${CMAKE_COMMAND} -DCLANG_FORMAT=${TQ_CLANG_FORMAT} -DROOT=${PROJECT_SOURCE_DIR} -P ${check})
  add_test(NAME repository/format/noticed COMMAND ${CMAKE_COMMAND} -DCLANG_FORMAT=${TQ_CLANG_FORMAT}
    -DROOT=${CMAKE_CURRENT_SOURCE_DIR}/repository/format/bad -P ${check})
  set_tests_properties(repository/format repository/format/noticed PROPERTIES LABELS repository)
  set_tests_properties(repository/format/noticed PROPERTIES
    PASS_REGULAR_EXPRESSION "include/tq/bad\\.hpp.*code should be clang-formatted")
else()
  message(STATUS "The form of source files is not tested: expected clang-format ${TQ_CLANG_FORMAT_VERSION}, got ${version}")
endif()
