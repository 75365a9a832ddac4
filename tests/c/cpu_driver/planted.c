/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody may put where the OpenCL runtime is looked for: it tells that it was loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void) {
    Dl_info info;
    if (dladdr((const void *)&loaded, &info))
        setenv("PLANTED", info.dli_fname, 1);
}
