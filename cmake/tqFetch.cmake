# Downloads, at a pinned version, what was not found. Not part of the installed package.
include(FetchContent)
if(POLICY CMP0135)
  cmake_policy(SET CMP0135 NEW)  # unpacked files are as new as the download
endif()

# Header-only dependencies are only unpacked: their own build files are not run (SOURCE_SUBDIR names no folder of
# theirs), so their options, tests and install rules stay out of this build.
macro(tq_download name)
  message(STATUS "tq: ${name} was not found; downloading it (TQ_FETCH_DEPENDENCIES)")
  FetchContent_Declare(${name} ${ARGN} SOURCE_SUBDIR tq-headers-only)
  FetchContent_MakeAvailable(${name})
endmacro()

# tq_mark_system(<target>...): our warnings are for our own headers.
function(tq_mark_system)
  foreach(target IN LISTS ARGN)
    get_target_property(dirs ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(dirs)
      set_property(TARGET ${target} APPEND PROPERTY INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${dirs})
    endif()
  endforeach()
endfunction()

macro(tq_fetch_xsimd)
  if(TQ_FETCH_DEPENDENCIES)
    tq_download(tq_xsimd
      URL https://github.com/xtensor-stack/xsimd/archive/refs/tags/13.2.0.tar.gz
      URL_HASH SHA256=edd8cd3d548c185adc70321c53c36df41abe64c1fe2c67bc6d93c3ecda82447a)
    tq_define_xsimd("${tq_xsimd_SOURCE_DIR}/include")
  endif()
endmacro()

macro(tq_fetch_eigen)
  if(TQ_FETCH_DEPENDENCIES)
    tq_download(tq_eigen3
      GIT_REPOSITORY https://gitlab.com/libeigen/eigen.git
      GIT_TAG 3147391d946bb4b6c68edd901f2add6ac1f31f8c)  # 3.4.0
    add_library(Eigen3::Eigen INTERFACE IMPORTED GLOBAL)
    set_target_properties(Eigen3::Eigen PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${tq_eigen3_SOURCE_DIR}")
    tq_find_component(eigen)
  endif()
endmacro()

macro(tq_fetch_json)  # zlib comes from the system or not at all
  if(TQ_FETCH_DEPENDENCIES AND NOT TARGET nlohmann_json::nlohmann_json AND TARGET ZLIB::ZLIB)
    tq_download(tq_nlohmann_json
      URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
      URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)
    add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED GLOBAL)
    set_target_properties(nlohmann_json::nlohmann_json PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${tq_nlohmann_json_SOURCE_DIR}/include")
    tq_find_component(json)
  endif()
endmacro()

# tq_require_cli11(), tq_require_benchmark(), tq_require_catch(): define the usual target of each if possible.
macro(tq_require_cli11)
  if(NOT TARGET CLI11::CLI11)
    find_package(CLI11 QUIET)
    if(NOT TARGET CLI11::CLI11 AND TQ_FETCH_DEPENDENCIES)
      tq_download(tq_cli11
        GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git
        GIT_TAG 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9)  # 2.4.2
      add_library(CLI11::CLI11 INTERFACE IMPORTED GLOBAL)
      set_target_properties(CLI11::CLI11 PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${tq_cli11_SOURCE_DIR}/include")
    endif()
  endif()
endmacro()

macro(tq_require_benchmark)
  find_package(benchmark QUIET)
  if(NOT TARGET benchmark::benchmark AND TQ_FETCH_DEPENDENCIES)
    set(BENCHMARK_ENABLE_TESTING OFF CACHE BOOL "" FORCE)
    set(BENCHMARK_ENABLE_INSTALL OFF CACHE BOOL "" FORCE)
    FetchContent_Declare(benchmark
      GIT_REPOSITORY https://github.com/google/benchmark.git
      GIT_TAG 344117638c8ff7e239044fd0fa7085839fc03021)  # 1.8.3
    FetchContent_MakeAvailable(benchmark)
    tq_mark_system(benchmark)
  endif()
endmacro()

macro(tq_require_catch)  # no version: 2 and 3 both work, see tests/support/catch.hpp
  tq_borrow_headers(_tq_dirs catch2)
  if(_tq_dirs)
    add_library(tq_catch_main STATIC ${PROJECT_SOURCE_DIR}/tests/support/catch_main.cpp)
    target_include_directories(tq_catch_main SYSTEM PUBLIC ${_tq_dirs})
    add_library(Catch2::Catch2WithMain ALIAS tq_catch_main)
  else()
    find_package(Catch2 QUIET)
  endif()
  if(NOT TARGET Catch2::Catch2WithMain AND TQ_FETCH_DEPENDENCIES)
    FetchContent_Declare(Catch2
      GIT_REPOSITORY https://github.com/catchorg/Catch2.git
      GIT_TAG 05e10dfccc28c7f973727c54f850237d07d5e10f)  # 3.5.2
    FetchContent_MakeAvailable(Catch2)
    tq_mark_system(Catch2)
  endif()
endmacro()
