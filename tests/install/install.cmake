# Consumer projects, each configured, built and run from nothing.
if(have_umbrella)
  set(consumers ${CMAKE_CURRENT_BINARY_DIR}/consumers)
  set(prefix ${consumers}/prefix)
  add_test(NAME install/prefix COMMAND ${CMAKE_COMMAND} -P ${CMAKE_CURRENT_SOURCE_DIR}/install/install_clean.cmake
    ${PROJECT_BINARY_DIR} ${prefix})
  set_tests_properties(install/prefix PROPERTIES FIXTURES_SETUP tq_prefix LABELS repository)

  function(tq_add_consumer name project)
    file(REMOVE_RECURSE ${consumers}/${name})
    add_test(NAME install/${name} COMMAND ${CMAKE_CTEST_COMMAND}
      --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/install/${project} ${consumers}/${name}
      --build-generator ${CMAKE_GENERATOR}
      --build-options -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_BUILD_TYPE=Debug ${ARGN}
      --test-command consumer)
    set_tests_properties(install/${name} PROPERTIES LABELS repository TIMEOUT 300)
  endfunction()

  get_target_property(xsimd_dir tq::xsimd INTERFACE_INCLUDE_DIRECTORIES)
  set(components core)
  foreach(component IN ITEMS eigen json openmp tbb mpi)
    if(TARGET tq::${component})
      string(APPEND components ",${component}")
    endif()
  endforeach()
  tq_add_consumer(find_package find_package
    -DCMAKE_PREFIX_PATH=${prefix} -DTQ_XSIMD_INCLUDE_DIR=${xsimd_dir} -DCOMPONENTS=${components}
    -DEXPECTED_VERSION=${PROJECT_VERSION})
  set_tests_properties(install/find_package PROPERTIES FIXTURES_REQUIRED tq_prefix)
  if(TQ_TEST_KERNELS_CONSUMER)
    tq_add_consumer(kernels kernels -DCMAKE_PREFIX_PATH=${prefix} -DTQ_XSIMD_INCLUDE_DIR=${xsimd_dir})
    set_tests_properties(install/kernels PROPERTIES FIXTURES_REQUIRED tq_prefix TIMEOUT 1800)
  endif()
  tq_add_consumer(add_subdirectory add_subdirectory -DTQ_SOURCE=${PROJECT_SOURCE_DIR} -DTQ_XSIMD_INCLUDE_DIR=${xsimd_dir})
  set(vendored -DVENDORED_XSIMD=${xsimd_dir})
  if(TARGET tq::eigen AND TARGET tq::json)
    get_target_property(eigen_dir Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
    get_target_property(json_dir nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
    list(APPEND vendored -DVENDORED_EIGEN=${eigen_dir} -DVENDORED_JSON=${json_dir})
  endif()
  tq_add_consumer(vendored add_subdirectory -DTQ_SOURCE=${PROJECT_SOURCE_DIR} ${vendored})
  tq_add_consumer(fetch_content fetch_content
    -DFETCHCONTENT_SOURCE_DIR_TQ=${PROJECT_SOURCE_DIR} -DTQ_XSIMD_INCLUDE_DIR=${xsimd_dir})
  add_test(NAME install/exported COMMAND ${CMAKE_COMMAND} -DTQ_SOURCE=${PROJECT_SOURCE_DIR} -DXSIMD=${xsimd_dir}
    -DWORK=${consumers}/exported -P ${CMAKE_CURRENT_SOURCE_DIR}/install/exported.cmake)
  set_tests_properties(install/exported PROPERTIES LABELS repository)
  tq_add_consumer(plain plain "-DCMAKE_CXX_FLAGS=-std=c++20 -I${PROJECT_SOURCE_DIR}/include -idirafter ${xsimd_dir}")

  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(TQ_XSIMD_PC QUIET xsimd>=8)
  endif()
  if(TQ_XSIMD_PC_FOUND)
    tq_add_consumer(pkg_config pkg_config -DPC_DIR=${prefix}/${CMAKE_INSTALL_DATADIR}/pkgconfig
      -DEXPECTED_VERSION=${PROJECT_VERSION})
    set_tests_properties(install/pkg_config PROPERTIES FIXTURES_REQUIRED tq_prefix)
  else()
    message(STATUS "tq: the test of tq.pc is left out: pkg-config, or its file of xsimd, not found")
  endif()
endif()

# The one version that is written twice.
file(READ ${PROJECT_SOURCE_DIR}/packaging/vcpkg/tq/vcpkg.json manifest)
string(JSON version GET "${manifest}" version-semver)
if(NOT version STREQUAL PROJECT_VERSION)
  message(SEND_ERROR "packaging/vcpkg/tq/vcpkg.json: expected version-semver ${PROJECT_VERSION}, got ${version}")
endif()
