# cmake -DCLANG_FORMAT=<program> -DROOT=<folder> -P check.cmake
# Fails where a source file is not as clang-format would write it.
cmake_minimum_required(VERSION 3.22)
set(patterns)
foreach(folder IN ITEMS include tests examples benchmarks)
  list(APPEND patterns ${ROOT}/${folder}/*.[chi]pp)
endforeach()
file(GLOB_RECURSE files RELATIVE ${ROOT} ${patterns})
list(FILTER files EXCLUDE REGEX "^tests/repository/format/bad/")
if(NOT files)
  message(FATAL_ERROR "${ROOT}: expected source files, got none")
endif()
execute_process(COMMAND ${CLANG_FORMAT} --dry-run -Werror ${files}
  WORKING_DIRECTORY ${ROOT} RESULT_VARIABLE result)
if(result)
  message(FATAL_ERROR "Files are not formatted: clang-format -i <file>")
endif()
