# cmake -DROOT=<examples> [-DEXPECT=<regular expression>] -P check.cmake
# Fails on a name of a `detail` namespace in an example, and on an example that types the metadata of quantized files
# itself. `allowed` lists what is left, file by file; a count that is larger than what a file has is an error as well, so
# that the list can only shrink. With EXPECT, fails unless it finds exactly one breach and that one matches.
cmake_minimum_required(VERSION 3.22)
set(allowed "")
if(NOT DEFINED EXPECT)
  set(allowed
    tq/old_models.cpp=1
    tq/output_names.cpp=1
    tq/quantize_plan.cpp=1
    tq/scalar_quantizer.cpp=6
    tq/scalar_quantizer.hpp=2
    tq/scheme_choice.cpp=1
    tq/unfinished_run.cpp=1
    )
endif()
set(breaches "")
set(total 0)
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/*.cpp ${ROOT}/*.hpp)
list(SORT files)
foreach(file IN LISTS files)
  file(READ ${ROOT}/${file} text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX MATCHALL "[^a-zA-Z0-9_]detail::" uses "${text}")
  list(LENGTH uses count)
  math(EXPR total "${total} + ${count}")
  set(limit 0)
  foreach(entry IN LISTS allowed)
    if(entry MATCHES "^${file}=([0-9]+)$")
      set(limit ${CMAKE_MATCH_1})
    endif()
  endforeach()
  if(count GREATER limit)
    list(APPEND breaches "${file}: expected ${limit} names of a detail namespace, got ${count}: use the public ones")
  elseif(count LESS limit)
    list(APPEND breaches "${file}: has ${count} names of a detail namespace: lower its limit of ${limit} in check.cmake")
  endif()
  if(text MATCHES "[\"']tensors\\\\?\":[^\n]*spec|\\\\?\"spec\\\\?\"[ ]*:[ ]*[{]" OR text MATCHES "\\[\"tq\"\\][ ]*=")
    list(APPEND breaches "${file}: types the metadata of a quantized file itself: use tq::save")
  endif()
endforeach()
foreach(entry IN LISTS allowed)
  string(REGEX REPLACE "=.*" "" file "${entry}")
  if(NOT file IN_LIST files)
    list(APPEND breaches "${file}: is in the list of check.cmake and does not exist: take it out")
  endif()
endforeach()
list(LENGTH breaches count)
if(DEFINED EXPECT)
  if(NOT count EQUAL 1 OR NOT breaches MATCHES "${EXPECT}")
    message(FATAL_ERROR "expected one breach, ${EXPECT}, got ${count}: ${breaches}")
  endif()
elseif(count GREATER 0)
  string(JOIN "\n  " text ${breaches})
  message(FATAL_ERROR "examples:\n  ${text}")
else()
  message(STATUS "${total} names of detail namespaces are left in examples")
endif()
