# Finds what tq's headers include, and defines the targets that carry it. Shared by the build tree and the
# installed package.
#
#   tq::xsimd    the headers of xsimd (required)
#   tq::eigen    tq::core + Eigen                       interop/eigen.hpp
#   tq::json     tq::core + nlohmann_json + zlib        files.hpp
#   tq::openmp   tq::core + OpenMP                      interop/openmp.hpp
#   tq::tbb      tq::core + oneTBB                      interop/tbb.hpp
#   tq::mpi      tq::core + MPI, its C interface        interop/mpi.hpp
#   tq::tq       tq::core and every one of these that was found

# Header-only libraries may be borrowed from the build machine when cross compiling. They are reached through a
# folder of links, because the folder they live in also holds that machine's C library headers.
set(TQ_CROSS_HEADERS "" CACHE PATH "Cross compiling: the include folder to borrow header-only libraries from")
mark_as_advanced(TQ_CROSS_HEADERS)

# tq_borrow_headers(<variable> <folder>): links TQ_CROSS_HEADERS/<folder> and returns the folder of links, or "".
function(tq_borrow_headers out folder)
  set(${out} "" PARENT_SCOPE)
  if(CMAKE_CROSSCOMPILING AND TQ_CROSS_HEADERS AND EXISTS ${TQ_CROSS_HEADERS}/${folder})
    set(links ${CMAKE_BINARY_DIR}/cross-headers/${folder})
    file(MAKE_DIRECTORY ${links})
    get_filename_component(name ${folder} NAME)
    file(CREATE_LINK ${TQ_CROSS_HEADERS}/${folder} ${links}/${name} SYMBOLIC)
    set(${out} ${links} PARENT_SCOPE)
  endif()
endfunction()

# tq_promote(<target>...): makes imported targets just found visible to the whole build, as tq::core is.
macro(tq_promote)
  foreach(_tq_target IN ITEMS ${ARGN})
    get_target_property(_tq_aliased ${_tq_target} ALIASED_TARGET)
    if(NOT _tq_aliased)
      set_target_properties(${_tq_target} PROPERTIES IMPORTED_GLOBAL TRUE)
    endif()
  endforeach()
endmacro()

# tq_define_xsimd(<include dirs>): defines tq::xsimd if these hold a version that tq can use.
function(tq_define_xsimd dirs)
  string(REGEX REPLACE "\\$<BUILD_INTERFACE:([^>]*)>" "\\1" dirs "${dirs}")
  string(GENEX_STRIP "${dirs}" dirs)
  foreach(dir IN LISTS dirs)
    set(config ${dir}/xsimd/config/xsimd_config.hpp)
    if(EXISTS ${config})
      file(STRINGS ${config} line REGEX "#define XSIMD_VERSION_MAJOR [0-9]+")
      string(REGEX REPLACE ".*XSIMD_VERSION_MAJOR ([0-9]+).*" "\\1" major "${line}")
      if(major GREATER_EQUAL 8)
        add_library(tq::xsimd INTERFACE IMPORTED GLOBAL)
        set_target_properties(tq::xsimd PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${dirs}")
      else()
        set(TQ_XSIMD_PROBLEM "${dir} holds version ${major}." PARENT_SCOPE)
      endif()
      return()
    endif()
  endforeach()
endfunction()

# xsimd is found by its headers, not by find_package: some distributions export a target that asks for a library
# which does not exist, and its version file accepts one major version only while tq works with many.
macro(tq_find_xsimd)
  if(NOT TARGET tq::xsimd)
    if(TARGET xsimd)  # vendored by the parent project
      get_target_property(_tq_dirs xsimd INTERFACE_INCLUDE_DIRECTORIES)
      tq_define_xsimd("${_tq_dirs}")
    elseif(TARGET xsimd::xsimd)  # found by it
      get_target_property(_tq_dirs xsimd::xsimd INTERFACE_INCLUDE_DIRECTORIES)
      tq_define_xsimd("${_tq_dirs}")
    endif()
    if(NOT TARGET tq::xsimd AND NOT TARGET xsimd)
      tq_borrow_headers(_tq_dirs xsimd)
      if(_tq_dirs)
        set(TQ_XSIMD_INCLUDE_DIR ${_tq_dirs} CACHE PATH "The folder that holds xsimd/xsimd.hpp")
      endif()
      find_path(TQ_XSIMD_INCLUDE_DIR xsimd/xsimd.hpp
        HINTS ${xsimd_ROOT} ${xsimd_DIR}/../../.. PATH_SUFFIXES include
        DOC "The folder that holds xsimd/xsimd.hpp")
      mark_as_advanced(TQ_XSIMD_INCLUDE_DIR)
      if(TQ_XSIMD_INCLUDE_DIR)
        tq_define_xsimd("${TQ_XSIMD_INCLUDE_DIR}")
      endif()
    endif()
  endif()
endmacro()

# tq_find_target(<target> <arguments of find_package>...): looks for a target unless it is there already.
macro(tq_find_target target)
  if(NOT TARGET ${target})
    find_package(${ARGN})
    if(TARGET ${target})
      tq_promote(${target})
    endif()
  endif()
endmacro()

# tq_need(<component> <target> <what it is>): links the target, or says that it is missing.
macro(tq_need name target what)
  if(TARGET ${target})
    list(APPEND _tq_links ${target})
  elseif(TQ_MISSING_${name})
    string(APPEND TQ_MISSING_${name} " and ${what}")
  else()
    set(TQ_MISSING_${name} "${what}")
  endif()
endmacro()

# tq_find_component(<eigen|json|openmp|tbb|mpi>): defines tq::<name> if what it needs is found. Never an error:
# TQ_MISSING_<name> says what was not found.
macro(tq_find_component name)
  set(TQ_MISSING_${name} "")
  if(NOT TARGET tq::${name})
    set(_tq_links "")
    if("${name}" STREQUAL "eigen")
      tq_borrow_headers(_tq_dirs eigen3/Eigen)
      if(_tq_dirs)
        add_library(tq::eigen INTERFACE IMPORTED GLOBAL)
        set_target_properties(tq::eigen PROPERTIES
          INTERFACE_INCLUDE_DIRECTORIES "${_tq_dirs}" INTERFACE_LINK_LIBRARIES tq::core)
      else()
        tq_find_target(Eigen3::Eigen Eigen3 3.3 QUIET NO_MODULE)
        tq_find_target(Eigen3::Eigen Eigen3 5 QUIET NO_MODULE)  # what came after 3
        tq_need(${name} Eigen3::Eigen "Eigen 3.3 or later")
      endif()
    elseif("${name}" STREQUAL "json")
      tq_find_target(nlohmann_json::nlohmann_json nlohmann_json 3.9 QUIET)
      tq_find_target(ZLIB::ZLIB ZLIB QUIET)
      tq_need(${name} nlohmann_json::nlohmann_json "nlohmann_json 3.9 or a later 3.x")
      tq_need(${name} ZLIB::ZLIB "zlib")
    elseif("${name}" STREQUAL "openmp")
      tq_find_target(OpenMP::OpenMP_CXX OpenMP QUIET COMPONENTS CXX)
      tq_need(${name} OpenMP::OpenMP_CXX "OpenMP for C++")
    elseif("${name}" STREQUAL "tbb")
      tq_find_target(TBB::tbb TBB QUIET)
      tq_need(${name} TBB::tbb "oneTBB")
    elseif("${name}" STREQUAL "mpi")
      if(NOT MPI_CXX_FOUND)  # the target may exist all the same, empty
        find_package(MPI QUIET COMPONENTS CXX)
        if(MPI_CXX_FOUND)
          tq_promote(MPI::MPI_CXX)
        endif()
      endif()
      if(MPI_CXX_FOUND)
        tq_need(${name} MPI::MPI_CXX "MPI")
      else()
        set(TQ_MISSING_mpi "MPI")
      endif()
    endif()
    if(_tq_links AND NOT TQ_MISSING_${name})
      add_library(tq::${name} INTERFACE IMPORTED GLOBAL)
      set_target_properties(tq::${name} PROPERTIES INTERFACE_LINK_LIBRARIES "tq::core;${_tq_links}")
    endif()
  endif()
endmacro()

# A later call may have found more.
macro(tq_define_umbrella)
  if(NOT TARGET tq::tq)
    add_library(tq::tq INTERFACE IMPORTED GLOBAL)
  endif()
  set(_tq_links tq::core)
  foreach(_tq_name IN ITEMS eigen json openmp tbb mpi)
    if(TARGET tq::${_tq_name})
      list(APPEND _tq_links tq::${_tq_name})
    endif()
  endforeach()
  set_target_properties(tq::tq PROPERTIES INTERFACE_LINK_LIBRARIES "${_tq_links}")
endmacro()
