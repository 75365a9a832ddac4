/* SPDX-License-Identifier: Apache-2.0 */
/* A ggml of another version: the functions of the ggml that it is linked with, except for ggml_version(),
 * which returns VERSION. load() loads a backend as ggml does. */
#include <dlfcn.h>
#include <stddef.h>

const char *ggml_version(void);

const char *ggml_version(void) {
    return VERSION;
}

void *load(const char *path) {
    void *(*init)(void);
    void *volatile made; /* no tail call, whose caller would be another library */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return NULL;
    *(void **)&init = dlsym(library, "ggml_backend_init");
    made = init();
    return made;
}
