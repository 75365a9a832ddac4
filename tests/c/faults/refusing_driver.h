// SPDX-License-Identifier: Apache-2.0
// A Level Zero driver that is libze_cpu.so, except that a test can make calls fail. It counts the
// handles and the memory that were created through it and still exist.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <level_zero/ze_api.h>

struct refusal {
    ze_result_t result; // ZE_RESULT_SUCCESS: not refused
    const char *log;    // build log of a refused module
};

// Asked before each call, each module and each kernel. A nullptr refuses nothing.
struct judges {
    refusal (*module)(const ze_module_desc_t &desc) = nullptr;
    ze_result_t (*kernel)(const ze_kernel_desc_t &desc) = nullptr;
    // name is as in ze_api.h. A call that frees something frees it even if the call is refused.
    ze_result_t (*call)(const char *name) = nullptr;
};

// The driver exports these functions under these names. Any thread may call set_judges(), but not while
// modules are built. count_live() is the number of things that still exist, which print_live() prints to
// stderr. The driver ends the process when something is destroyed that does not exist.
struct refusing_driver {
    void (*set_judges)(judges);
    int (*count_live)();
    void (*print_live)();

    explicit refusing_driver(const char *path) {
        void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        find(library, "set_judges", set_judges);
        find(library, "count_live", count_live);
        find(library, "print_live", print_live);
    }

private:
    template <typename F> void find(void *library, const char *name, F &function) {
        void *const found = library ? dlsym(library, name) : nullptr;
        if (!found) {
            std::fprintf(stderr, "the refusing driver: %s\n", dlerror());
            std::abort();
        }
        function = reinterpret_cast<F>(found);
    }
};
