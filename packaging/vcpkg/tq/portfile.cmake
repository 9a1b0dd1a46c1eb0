# An overlay port of the source tree that it lies in:
#   vcpkg install tq --overlay-ports=<tq>/packaging/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

set(VCPKG_BUILD_TYPE release) # header-only port

# Optional libraries are looked for when the package is used, not when it is made.
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DTQ_BUILD_TESTS=OFF
        -DTQ_BUILD_BENCHMARKS=OFF
        -DTQ_BUILD_EXAMPLES=OFF
        -DTQ_FETCH_DEPENDENCIES=OFF
        -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/tq)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/licenses")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
