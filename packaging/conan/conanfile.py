# SPDX-License-Identifier: MIT
"""The Conan 2 recipe of the source tree that it lies in: conan create packaging/conan"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class TqConan(ConanFile):
    name = "tq"
    description = "Header-only C++20 tensor quantization"
    license = "MIT"
    topics = ("quantization", "tensor", "simd", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "with_eigen": [True, False],  # tq::eigen, for interop/eigen.hpp
        "with_json": [True, False],  # tq::json, for files
        "with_tbb": [True, False],  # tq::tbb, for interop/tbb.hpp
    }
    default_options = {"with_eigen": False, "with_json": False, "with_tbb": False}
    implements = ["auto_header_only"]
    no_copy_source = True

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root, "include", "tq", "version.hpp"))
        self.version = ".".join(
            re.search(rf"#define TQ_VERSION_{part} (\d+)", text).group(1)
            for part in ("MAJOR", "MINOR", "PATCH")
        )

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("xsimd/[>=8.1]", transitive_headers=True)
        if self.options.with_eigen:
            self.requires("eigen/[>=3.3.9]", transitive_headers=True)
        if self.options.with_json:
            self.requires("nlohmann_json/[>=3.9 <4]", transitive_headers=True)
            self.requires("zlib/[>=1.2.11 <2]", transitive_headers=True, transitive_libs=True)
        if self.options.with_tbb:
            self.requires("onetbb/[>=2021]", transitive_headers=True, transitive_libs=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "BENCHMARKS", "EXAMPLES"):
            toolchain.cache_variables[f"TQ_BUILD_{part}"] = False
        toolchain.cache_variables["TQ_FETCH_DEPENDENCIES"] = False
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_MPI"] = True
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The package's own files describe its targets, its components and tq_add_kernels.
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "tq")]
