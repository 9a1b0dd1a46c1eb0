# For a check of a rule that all headers of ROOT keep: lists them in `files`, relative to it. breach(<text>) for every one that
# does not, then report_breaches(<text>), which fails where there are some, else prints that. Where EXPECT is defined, it fails
# unless there is exactly one breach and that one matches.
get_filename_component(ROOT ${ROOT} ABSOLUTE)
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/*.[hi]pp)
if(NOT files)
  message(FATAL_ERROR "${ROOT}: expected headers, got none")
endif()

set(breaches "")
set(count 0)
function(breach text)
  math(EXPR count "${count} + 1")
  set(count ${count} PARENT_SCOPE)
  set(breaches "${breaches}${text}\n" PARENT_SCOPE)
endfunction()

function(report_breaches held)
  if(DEFINED EXPECT)
    if(NOT count EQUAL 1 OR NOT breaches MATCHES "${EXPECT}")
      message(FATAL_ERROR "expected one breach, `${EXPECT}`; found ${count}:\n${breaches}")
    endif()
  elseif(breaches)
    message(FATAL_ERROR "${breaches}")
  else()
    message(STATUS "${held}")
  endif()
endfunction()
