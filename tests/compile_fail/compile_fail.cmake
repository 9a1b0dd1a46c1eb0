# Every file here must fail to compile, and the compiler must say what the file's first line expects:
#   // expect: <regular expression>      or `// expect: compiles`, for a control of the mechanism itself
#                                         or `// expect: one error: <regular expression>` or `// expect: <count> errors: <...>`,
#                                         where nothing else may be said, in at most 12 lines an error
#   // flags: <flag> ...                 (optional second line)
# Names that begin with gnu_ are of mistakes that only g++ lets a header see, and names that begin with clang_ of mistakes
# that only clang warns of.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*.cpp)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(FILTER sources EXCLUDE REGEX "/gnu_[^/]*$")
endif()
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(FILTER sources EXCLUDE REGEX "/clang_[^/]*$")
endif()
tq_filter_sources(sources targets ${sources})
set(includes -I${PROJECT_SOURCE_DIR}/include)
foreach(target IN ITEMS tq::xsimd Eigen3::Eigen MPI::MPI_CXX)
  if(TARGET ${target})
    get_target_property(dirs ${target} INTERFACE_INCLUDE_DIRECTORIES)
    foreach(dir IN LISTS dirs)
      if(NOT dir STREQUAL "/usr/include")  # searched anyway, and not to be moved in the search order
        list(APPEND includes -isystem ${dir})
      endif()
    endforeach()
  endif()
endforeach()
# Controls of the mechanism: these two must be found out.
foreach(name IN ITEMS compiles_after_all fails_for_another_reason)
  add_test(NAME compile_fail/control/${name} COMMAND ${CMAKE_COMMAND}
    -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/control/${name}.cpp
    -DCOMPILER=${CMAKE_CXX_COMPILER} "-DINCLUDES=${includes}"
    -P ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/check.cmake)
  set_tests_properties(compile_fail/control/${name} PROPERTIES LABELS repository WILL_FAIL TRUE)
endforeach()
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  add_test(NAME compile_fail/${name} COMMAND ${CMAKE_COMMAND}
    -DSOURCE=${source} -DCOMPILER=${CMAKE_CXX_COMPILER} "-DINCLUDES=${includes}"
    -P ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/check.cmake)
  set_tests_properties(compile_fail/${name} PROPERTIES LABELS repository)
endforeach()
