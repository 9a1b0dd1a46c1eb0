# cmake -DROOT=<folder> [-DEXPECT=<regular expression>] -P check.cmake
# Fails where a function of a header takes more than 7 arguments; with EXPECT, fails unless it finds exactly one that does
# and its message matches.
cmake_minimum_required(VERSION 3.22)
set(most 7)
string(REPEAT "[^(),\"]*," ${most} too_many)
# A list of parameters is what stands before a body, a qualifier, a result or initializers; one with a text is of a call.
set(parameters "[A-Za-z0-9_]+\\(${too_many}[^()]*\\) ?(const|noexcept|requires|->|:|{)")

include(${CMAKE_CURRENT_LIST_DIR}/../../support/header_rule.cmake)
foreach(file IN LISTS files)
  file(READ ${ROOT}/${file} text)
  # Without comments, preprocessor lines, what lists of CMake live by, and commas of template arguments.
  string(REGEX REPLACE "\n[ \t]*#[^\n]*" "\n" text "${text}")
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "[][;\\ \t\n]+" " " text "${text}")
  foreach(depth RANGE 3)
    string(REGEX REPLACE "<[A-Za-z0-9_:.&*, ]*>" "" text "${text}")
  endforeach()
  # From the innermost parentheses outwards.
  while(text MATCHES "\\([^()]*\\)")
    string(REGEX MATCHALL "${parameters}" found "${text}")
    foreach(function IN LISTS found)
      breach("${file}: more than ${most} arguments: ${function}")
    endforeach()
    string(REGEX REPLACE "\\([^()]*\\)" "@" text "${text}")
  endwhile()
endforeach()

list(LENGTH files n)
report_breaches("no function of ${n} headers has more than ${most} arguments")
