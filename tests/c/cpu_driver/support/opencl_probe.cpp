// SPDX-License-Identifier: Apache-2.0
#include "opencl_probe.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <link.h>

namespace {

constexpr uint64_t cpu = 1 << 1;

int note_path(dl_phdr_info *info, size_t, void *path) {
    if (std::strstr(info->dlpi_name, "libintelocl.so"))
        *static_cast<std::string *>(path) = info->dlpi_name;
    return 0;
}

/// The library that the driver has loaded.
void *library() {
    static void *handle = [] {
        std::string path;
        dl_iterate_phdr(note_path, &path);
        void *found = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
        if (path.empty() || !found) {
            std::printf("the driver has not loaded libintelocl.so\n");
            std::exit(1);
        }
        return found;
    }();
    return handle;
}

template <class Result, class... Arguments> Result call(const char *name, Arguments... arguments) {
    return reinterpret_cast<Result (*)(Arguments...)>(dlsym(library(), name))(arguments...);
}

} // namespace

bool opencl_builds(const std::vector<uint8_t> &code) {
    static void *platform = nullptr, *device = nullptr, *context = nullptr;
    int status = 0;
    if (!context) {
        call<int>("clGetPlatformIDs", 1u, &platform, static_cast<unsigned *>(nullptr));
        call<int>("clGetDeviceIDs", platform, cpu, 1u, &device, static_cast<unsigned *>(nullptr));
        context = call<void *>("clCreateContext", static_cast<const intptr_t *>(nullptr), 1u, &device,
                               static_cast<void *>(nullptr), static_cast<void *>(nullptr), &status);
    }
    void *program = call<void *>("clCreateProgramWithIL", context, static_cast<const void *>(code.data()),
                                 code.size(), &status);
    if (!program)
        return false;
    status = call<int>("clBuildProgram", program, 1u, &device, "", static_cast<void *>(nullptr),
                       static_cast<void *>(nullptr));
    call<int>("clReleaseProgram", program);
    return status == 0;
}
