# cmake -DTQ_SOURCE=<folder> -DXSIMD=<folder> -DWORK=<folder> -P exported.cmake
# Configures and installs the project in exported/, and finds tq beside it, in the folder for headers
# that was asked for.
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${CMAKE_COMMAND}
  -S ${CMAKE_CURRENT_LIST_DIR}/exported -B ${WORK}/build -DTQ_SOURCE=${TQ_SOURCE} -DTQ_XSIMD_INCLUDE_DIR=${XSIMD}
  -DTQ_FETCH_DEPENDENCIES=OFF -DCMAKE_INSTALL_PREFIX=${WORK}/prefix -DCMAKE_INSTALL_INCLUDEDIR=headers)
execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${CMAKE_COMMAND} --install ${WORK}/build)
foreach(file IN ITEMS headers/tq/tq.hpp share/cmake/tq/tqConfig.cmake lib/cmake/exported/exportedTargets.cmake)
  if(NOT EXISTS ${WORK}/prefix/${file})
    message(FATAL_ERROR "expected ${file} in ${WORK}/prefix, got none")
  endif()
endforeach()
file(READ ${WORK}/prefix/share/cmake/tq/tqTargets.cmake targets)
if(NOT targets MATCHES "_IMPORT_PREFIX}/headers\"")
  message(FATAL_ERROR "expected tq::core to include <prefix>/headers, got ${targets}")
endif()
file(READ ${WORK}/prefix/lib/cmake/exported/exportedTargets.cmake targets)
if(NOT targets MATCHES "tq::core")
  message(FATAL_ERROR "expected exported::exported to link tq::core, got ${targets}")
endif()
