# The reference of docs/reference, and a test that every public entity has a text and that no link is broken.
find_program(TQ_DOXYGEN doxygen DOC "Doxygen, for the reference and its test")
if(NOT TQ_DOXYGEN)
  message(STATUS "tq: the reference is left out: doxygen not found")
  return()
endif()

# tq_configure_reference(<name> <folder of headers>): writes the Doxyfile that makes the pages of these headers.
function(tq_configure_reference name input)
  set(TQ_REFERENCE_INPUT ${input})
  set(TQ_REFERENCE_DIR ${PROJECT_BINARY_DIR}/${name})
  configure_file(${PROJECT_SOURCE_DIR}/docs/reference/Doxyfile.in ${TQ_REFERENCE_DIR}/Doxyfile @ONLY)
endfunction()

tq_configure_reference(reference ${PROJECT_SOURCE_DIR}/include/tq)
add_custom_target(tq-reference COMMAND ${TQ_DOXYGEN} ${PROJECT_BINARY_DIR}/reference/Doxyfile
  COMMENT "Writing ${PROJECT_BINARY_DIR}/reference/html/index.html" VERBATIM)
add_test(NAME repository/reference COMMAND ${CMAKE_COMMAND} -DDOXYGEN=${TQ_DOXYGEN}
  -DFOLDER=${PROJECT_BINARY_DIR}/reference -P ${CMAKE_CURRENT_LIST_DIR}/check.cmake)

tq_configure_reference(reference-bad ${CMAKE_CURRENT_LIST_DIR}/bad)
add_test(NAME repository/reference/noticed COMMAND ${CMAKE_COMMAND} -DDOXYGEN=${TQ_DOXYGEN}
  -DFOLDER=${PROJECT_BINARY_DIR}/reference-bad -DBAD=TRUE -P ${CMAKE_CURRENT_LIST_DIR}/check.cmake)
set_tests_properties(repository/reference repository/reference/noticed PROPERTIES LABELS repository)
