# SPDX-License-Identifier: Apache-2.0
"""Where the package has its headers and libraries, for C and C++ programs that are linked with
it."""

from zemm._library.package_files import package_file


def get_include() -> str:
    """The folder to add to the include path: programs write `#include <zemm/zemm.h>`."""
    return str(package_file("include/zemm/zemm.h").parents[1])


def get_lib() -> str:
    """The folder of libzemm.so.0 and libze_cpu.so.

    It also has pkgconfig/zemm.pc (for PKG_CONFIG_PATH) and the package of CMake (the folder itself is
    for CMAKE_PREFIX_PATH, then find_package(zemm) defines zemm::zemm). An editable installation leaves
    the libraries in the build folder, and has neither.
    """
    return str(package_file("libzemm.so.0").parent)
