# tq_add_files(<target> [KERNELS <library>])
#
# Adds a static library with the functions of tq that read and write files, models and configurations (the folders
# scheme/, model/, select/, files/, containers/, json/, checkpoints/ and store/), compiled once. The headers that a
# program includes have declarations in place of these functions, and compile in a fraction of the time.
# KERNELS: a library of tq_add_kernels, whose kernels the functions run. Without it they have kernels of their own, for
# the instruction set that the target is compiled for: target_compile_options(<target> PUBLIC -march=native).
function(tq_add_files target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "KERNELS" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tq_add_files: expected <target> [KERNELS <library>], got ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    message(FATAL_ERROR "tq_add_files: expected g++ or clang, got ${CMAKE_CXX_COMPILER_ID}: use tq::json alone")
  endif()
  if(NOT TARGET tq::json)
    message(FATAL_ERROR "tq_add_files: expected the target tq::json (nlohmann_json and zlib), got none")
  endif()
  if(arg_KERNELS AND NOT TARGET ${arg_KERNELS})
    message(FATAL_ERROR "tq_add_files: expected a target as KERNELS, got ${arg_KERNELS}")
  endif()

  set(include ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include)
  if(NOT EXISTS ${include}/tq/bodies.hpp)  # installed
    get_target_property(include tq::core INTERFACE_INCLUDE_DIRECTORIES)
  endif()
  # What compiles long has a source of its own, so that several compilers share the work.
  set(alone store/stored_model store/convert_model store/write_checkpoint store/measure_checkpoint store/write_gguf
    store/measure_gguf store/detail/erased_format)
  list(TRANSFORM alone APPEND .ipp)
  set(first "")
  if(arg_KERNELS)  # the few kernels that the library has not
    set(first "#include <tq/ops/backend/native_backend.hpp>\n")
  endif()
  set(sources "")
  foreach(room IN ITEMS files scheme model json select containers checkpoints store)
    file(GLOB_RECURSE bodies RELATIVE ${include}/tq CONFIGURE_DEPENDS ${include}/tq/${room}/*.ipp)
    list(REMOVE_ITEM bodies ${alone})
    if(bodies)
      _tq_source_of_bodies(${target} ${room} "${first}" sources ${bodies})
    endif()
  endforeach()
  foreach(body IN LISTS alone)
    string(MAKE_C_IDENTIFIER ${body} name)
    _tq_source_of_bodies(${target} ${name} "${first}" sources ${body})
  endforeach()

  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC tq::core tq::json ${arg_KERNELS})
  target_compile_definitions(${target} PUBLIC TQ_FILE_LIBRARY PRIVATE TQ_FILE_BODIES)
endfunction()

# Adds a source that begins with a text and includes these bodies to the list.
function(_tq_source_of_bodies target name text list)
  foreach(body IN LISTS ARGN)
    string(APPEND text "#include <tq/${body}>\n")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "@text@" @ONLY)
  set(${list} ${${list}} ${source} PARENT_SCOPE)
endfunction()
