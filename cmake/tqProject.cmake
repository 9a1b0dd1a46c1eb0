# Helpers of our own tests, benchmarks and examples.

find_package(Threads QUIET)
include(${CMAKE_CURRENT_LIST_DIR}/tqBatches.cmake)
include(CheckIncludeFileCXX)

# tq_requirements(<file> <targets> <missing>): what a source file or header of ours needs beyond tq::core, told
# from its own #include lines (and its path, for a header). A target that does not exist goes to <missing>.
function(tq_requirements file out_targets out_missing)
  file(STRINGS ${file} text REGEX "^[ \t]*#[ \t]*include")
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
  string(APPEND text " ${path}")
  set(needs "")
  if(text MATCHES "tq/(files|containers|json|checkpoints|store)(/|\\.hpp)|<nlohmann/|<zlib\\.h>")
    list(APPEND needs tq::json)
  endif()
  if(text MATCHES "tq/interop/eigen|<Eigen/")
    list(APPEND needs tq::eigen)
  endif()
  if(text MATCHES "tq/interop/openmp|<omp\\.h>")
    list(APPEND needs tq::openmp)
  endif()
  if(text MATCHES "tq/interop/tbb|<tbb/|<oneapi/tbb")
    list(APPEND needs tq::tbb)
  endif()
  if(text MATCHES "tq/interop/mpi|<mpi\\.h>")
    list(APPEND needs tq::mpi)
  endif()
  if(text MATCHES "tq/interop/mdspan|<mdspan>")
    check_include_file_cxx(mdspan TQ_HAVE_MDSPAN)
    if(NOT TQ_HAVE_MDSPAN)
      list(APPEND needs "<mdspan>")
    endif()
  endif()
  if(text MATCHES "<CLI/")
    tq_require_cli11()
    list(APPEND needs CLI11::CLI11)
  endif()
  if(text MATCHES "<(thread|mutex|atomic|future)>" AND TARGET Threads::Threads)
    list(APPEND needs Threads::Threads)
  endif()
  set(targets "")
  set(missing "")
  foreach(need IN LISTS needs)
    if(TARGET ${need})
      list(APPEND targets ${need})
    else()
      list(APPEND missing ${need})
    endif()
  endforeach()
  set(${out_targets} "${targets}" PARENT_SCOPE)
  set(${out_missing} "${missing}" PARENT_SCOPE)
endfunction()

# tq_filter_sources(<sources> <targets> <file>...): keeps the files whose requirements are met, and says which were not.
function(tq_filter_sources out_sources out_targets)
  set(sources "")
  set(targets "")
  foreach(file IN LISTS ARGN)
    tq_requirements(${file} needs missing)
    if(missing)
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
      message(STATUS "tq: ${path} is left out: ${missing} not found")
    else()
      list(APPEND sources ${file})
      list(APPEND targets ${needs})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES targets)
  set(${out_sources} "${sources}" PARENT_SCOPE)
  set(${out_targets} "${targets}" PARENT_SCOPE)
endfunction()

# tq_add_demo(<name> [PART first|tool|rest] [TITLE <text>] [SHOW <regular expression>] COMMAND <command> <argument>...): a step of the
# `demo` workflow. Steps run in the order they are added, from the root of the source tree; outputs belong in
# ${PROJECT_BINARY_DIR}/demo, which exists. The demo prints TITLE and the lines of the step that match SHOW; without SHOW it
# prints nothing. The steps of a part (default: rest) run before the programs of the later parts are built. A <command> may
# be a target.
# tq_finish_demo(): makes the targets tq-demo-first, tq-demo-tool and tq-demo of the steps.
function(tq_add_demo name)
  cmake_parse_arguments(PARSE_ARGV 1 step "" "PART;TITLE;SHOW" "COMMAND")
  set(part rest)
  if(step_PART)
    set(part ${step_PART})
  endif()
  set(words "")
  foreach(word IN LISTS step_COMMAND)
    if(TARGET ${word})
      set_property(GLOBAL APPEND PROPERTY TQ_DEMO_TARGETS_${part} ${word})
      set(word $<TARGET_FILE:${word}>)
    endif()
    string(APPEND words " [==[${word}]==]")
  endforeach()
  set_property(GLOBAL APPEND_STRING PROPERTY TQ_DEMO_STEPS_${part}
    "tq_demo_step([==[${name}]==] [==[${step_TITLE}]==] [==[${step_SHOW}]==]${words})\n")
endfunction()
function(tq_finish_demo)
  set(out ${PROJECT_BINARY_DIR}/demo)
  file(MAKE_DIRECTORY ${out})
  foreach(part IN ITEMS first tool rest)
    get_property(steps GLOBAL PROPERTY TQ_DEMO_STEPS_${part})
    get_property(programs GLOBAL PROPERTY TQ_DEMO_TARGETS_${part})
    set(target tq-demo-${part})
    if(part STREQUAL "rest")
      set(target tq-demo)
    endif()
    file(GENERATE OUTPUT ${out}/steps_${part}.cmake CONTENT "${steps}")
    add_custom_target(${target}
      COMMAND ${CMAKE_COMMAND} -DSTEPS=${out}/steps_${part}.cmake -DOUT=${out} -DROOT=${PROJECT_SOURCE_DIR} -DPART=${part}
        -P ${PROJECT_SOURCE_DIR}/cmake/run_demo.cmake
      COMMENT "Run the steps of the demo: ${part}" USES_TERMINAL VERBATIM)
    list(REMOVE_DUPLICATES programs)
    if(programs)
      add_dependencies(${target} ${programs})
    endif()
  endforeach()
endfunction()

# tq_ranks(<variable> <n>): the command that starts n ranks of an MPI program on this machine; empty without MPI.
# tq_mpi_environment: what lets such a command run in a container as any user.
# tq_mpi_test(<test> <n>): lets such a test run in a container, on fewer cores than ranks, and never for long.
function(tq_ranks out n)
  set(${out} "" PARENT_SCOPE)
  if(TARGET tq::mpi AND MPIEXEC_EXECUTABLE)
    set(${out} ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${n} ${MPIEXEC_PREFLAGS} PARENT_SCOPE)
  endif()
endfunction()
set(tq_mpi_environment
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_btl_vader_single_copy_mechanism=none  # it needs ptrace
    ASAN_OPTIONS=detect_leaks=0)                   # MPI's own
function(tq_mpi_test name n)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${tq_mpi_environment}" TIMEOUT 60 PROCESSORS ${n})
endfunction()
