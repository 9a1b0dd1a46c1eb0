# Compiles through ccache where it is found, so that all clones and worktrees on a machine share what is compiled. For
# that, no path of a checkout may stand on a line of the compiler or in a generated source: tests/support/directories.cpp
# and the examples' main.cpp are the exceptions.
option(TQ_CCACHE "Compile through ccache, where it is found" ${PROJECT_IS_TOP_LEVEL})
if(TQ_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TQ_CCACHE_PROGRAM ccache)
  if(TQ_CCACHE_PROGRAM)
    # CCACHE_DEPEND: what a file includes is learnt from the compiler, not by running the preprocessor before it.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_MAXSIZE=10G
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${TQ_CCACHE_PROGRAM})
  endif()
endif()
