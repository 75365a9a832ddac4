/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libcommon_clang.so in the folders that zemm-bundle makes. That library compiles
 * OpenCL C. The OpenCL CPU runtime cannot be loaded without it, but kernels in SPIR-V do not need
 * it, and it is more than half of the runtime (200 MB, 48 compressed). The names are those by which
 * the runtime calls it. Arguments are ignored. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* Whether the compiler knows the options of a build. The runtime also asks when a module is SPIR-V. */
EXPORT bool CheckCompileOptions(void) {
    return true;
}

/* After a failure the runtime reads a build log from a result that only the compiler can make, and
 * crashes without one. A sentence is better. */
EXPORT int Compile(void) {
    fputs("This folder of zemm-bundle has no compiler for OpenCL C. Only kernels for Intel GPUs need it, "
          "which run on a CPU when ZEMM_KERNEL names one.\n",
          stderr);
    _Exit(1);
}
