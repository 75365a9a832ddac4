// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <level_zero/ze_api.h>

#include "module_unit.h"
#include "opencl_api.h"
#include "spirv.h"

/// Text that outlives the module it came from, as the specification wants.
struct _ze_module_build_log_handle_t {
    std::string text;
};

namespace ze_cpu {

/// What came out of building: kernels keep it alive.
struct BuiltModule {
    std::shared_ptr<const Program> program;            // null while imports are unresolved
    std::vector<std::shared_ptr<const Program>> homes; // of variables whose addresses the program has
    std::vector<KernelInfo> kernels;
};

/// A module as it is kept outside of the process.
struct NativeModule {
    std::vector<KernelInfo> kernels;
    std::vector<uint8_t> binary; // OpenCL's; empty while imports are unresolved
    std::vector<std::string> unresolved;
    std::string options; // to link the sources
    struct Input {
        std::vector<uint8_t> words;
        std::string options;
        Constants constants;
    };
    std::vector<Input> sources; // of modules that others may be linked with
};

/// Held while units are linked or what they are linked with is read: one may export to several.
std::mutex &link_mutex();

/// Native binaries: see native_binary.cpp for the layout.
std::vector<uint8_t> pack_native(const NativeModule &module);
bool unpack_native(const uint8_t *data, size_t size, NativeModule &module, std::string &error);

} // namespace ze_cpu

struct _ze_module_handle_t {
    ze_context_handle_t context = nullptr;
    std::shared_ptr<ze_cpu::BuiltModule> built;
    std::shared_ptr<ze_cpu::Unit> unit;
    ze_cpu::Closure uses; // what the unit is linked with stays, whatever becomes of these modules
    bool has_imports = false;
    std::mutex mutex;            // of what is made at its first use:
    std::vector<uint8_t> native; // zeModuleGetNativeBinary
    ze_cpu::Program functions;   // zeModuleGetFunctionPointer
};
