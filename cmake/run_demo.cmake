# cmake -DSTEPS=<file> -DOUT=<folder> -DROOT=<source tree> -DPART=<first|tool|rest> -P run_demo.cmake
# Runs the steps of the demo that `tq_add_demo` listed, one after the other, and prints a title and the lines of each that
# its SHOW names. The whole output of a step is in <OUT>/logs. A step that fails is printed in full and ends the demo.
# With TQ_DEMO_FULL in the environment every step is printed in full.
cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY ${OUT}/logs)

function(say text)  # to standard output, without a prefix
  file(WRITE ${OUT}/logs/said "${text}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${OUT}/logs/said)
endfunction()

# The lines of `text` that match one of the alternatives of `pattern`, as text.
function(matching_lines result pattern text)
  set(found "")
  while(NOT text STREQUAL "")
    string(FIND "${text}" "\n" end)
    if(end EQUAL -1)
      set(line "${text}")
      set(text "")
    else()
      string(SUBSTRING "${text}" 0 ${end} line)
      math(EXPR end "${end} + 1")
      string(SUBSTRING "${text}" ${end} -1 text)
    endif()
    if(line MATCHES "${pattern}")
      string(APPEND found "  ${line}\n")
    endif()
  endwhile()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

set(steps 0)
function(tq_demo_step name title show)
  math(EXPR count "${steps} + 1")
  set(steps ${count} PARENT_SCOPE)
  set(log ${OUT}/logs/${name}.txt)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${ROOT} RESULT_VARIABLE status TIMEOUT 600
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  file(WRITE ${log} "${output}")
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    say("\n${name}\n${output}")
    message(FATAL_ERROR "demo: step ${name} failed (${status}): ${command}")
  endif()
  if(DEFINED ENV{TQ_DEMO_FULL})
    say("\n${name}: ${title}\n\n${output}")
  elseif(NOT show STREQUAL "")
    matching_lines(lines "${show}" "${output}")
    if(lines STREQUAL "")
      message(FATAL_ERROR "demo: step ${name} printed no line that matches \"${show}\"; its output is in ${log}")
    endif()
    string(STRIP "${lines}" lines)
    say("\n${title}\n  ${lines}")
  endif()
endfunction()

include(${STEPS})

if(PART STREQUAL "rest")
  file(GLOB_RECURSE pages RELATIVE ${ROOT} ${OUT}/*.html)
  list(JOIN pages "\n  " pages)
  file(RELATIVE_PATH folder ${ROOT} ${OUT})
  get_filename_component(build ${folder} DIRECTORY)
  say("\nAll steps passed. The full tables are in ${folder}/logs; with TQ_DEMO_FULL=1 in the environment the demo prints them.
Pages for a browser:
  ${pages}
Try next, with a model of yours:
  ${build}/bin/tq inspect model.safetensors
  ${build}/bin/tq quantize model.safetensors int4.safetensors --type int4_g32
  ${build}/bin/tq report model.safetensors int4.safetensors -o report.html")
endif()
