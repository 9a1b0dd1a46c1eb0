# cmake -DOBJDUMP=<objdump> -DOBJECT=<file.o> -DCHECK=<unasked|unnamed> -P symbols.cmake
# Of an object for AVX-512, compiled with -ffunction-sections:
#   unasked  fails on functions of tq that are made for the instruction set, but for the instructions themselves
#            (tq::arch): they come with an #include, without being asked for
#   unnamed  fails on functions that call some of these, or read their data, and have no instruction set in their own
#            name: two files of one program with different flags would share one of them
# Names are as the compiler mangles them: the first mention of a type in one is spelled out.
cmake_minimum_required(VERSION 3.22)
set(named "8avx512bw|7avx512f")
execute_process(COMMAND ${OBJDUMP} -r -w ${OBJECT} OUTPUT_FILE ${OBJECT}.relocations RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${OBJDUMP} -r ${OBJECT} failed")
endif()
file(STRINGS ${OBJECT}.relocations lines REGEX "^RELOCATION RECORDS FOR|${named}")
set(function "")
set(found "")
set(all 0)
foreach(line IN LISTS lines)
  if(line MATCHES "^RELOCATION RECORDS FOR \\[(.*)\\]")
    set(function "")
    if(CMAKE_MATCH_1 MATCHES "^\\.(text|data\\.rel\\.ro|rodata)[a-z.]*\\.(_Z.*)$")
      set(function "${CMAKE_MATCH_2}")
      math(EXPR all "${all} + 1")
    endif()
  elseif(function STREQUAL "" OR function MATCHES "_GLOBAL__N_1")  # of the test itself
  elseif(line MATCHES "\\.str[0-9]+\\.[0-9]+([+]|$)")  # text, which lies beside the function that has it first
  elseif(CHECK STREQUAL "unnamed" AND NOT function MATCHES "${named}")
    list(APPEND found "${function}")
  endif()
  if(CHECK STREQUAL "unasked" AND function MATCHES "^_ZNK?2tq|^_ZNK?[0-9A-Za-z]*I.*2tq" AND function MATCHES "${named}"
     AND NOT function MATCHES "^_ZNK?2tq4arch")
    list(APPEND found "${function}")
  endif()
endforeach()
list(REMOVE_DUPLICATES found)
if(all EQUAL 0)
  message(FATAL_ERROR "${OBJECT}: no functions with sections of their own")
endif()
if(EXPECT)
  if(NOT found MATCHES "${EXPECT}")
    message(FATAL_ERROR "expected `${EXPECT}` to be found, got: ${found}")
  endif()
elseif(found)
  list(JOIN found "\n" found)
  message(FATAL_ERROR "${OBJECT}, ${CHECK}:\n${found}")
endif()
message(STATUS "${all} functions and tables: none ${CHECK}")
