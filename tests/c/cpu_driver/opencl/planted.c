/* SPDX-License-Identifier: Apache-2.0 */
/* A library where the driver looks for the OpenCL runtime. It tells that it was loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void) {
    Dl_info info;
    if (dladdr((const void *)&loaded, &info))
        setenv("PLANTED", info.dli_fname, 1);
}
