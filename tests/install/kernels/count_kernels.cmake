# cmake -P count_kernels.cmake <nm> <program> <N>: fails unless the program has from 1 to N kernels of the library.
execute_process(COMMAND ${CMAKE_ARGV3} ${CMAKE_ARGV4} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "kernel_library10kernel_for" found "${symbols}")
list(LENGTH found count)
if(count EQUAL 0 OR count GREATER ${CMAKE_ARGV5})
  message(FATAL_ERROR "expected from 1 to ${CMAKE_ARGV5} kernels in ${CMAKE_ARGV4}, got ${count}")
endif()
