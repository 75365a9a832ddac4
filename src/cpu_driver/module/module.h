// SPDX-License-Identifier: Apache-2.0
//
// Modules: their handles, the result of building them, and native binaries.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <level_zero/ze_api.h>

#include "module_unit.h"
#include "opencl/opencl_api.h"
#include "spirv/spirv.h"

/// A build log. By the specification it outlives its module.
struct _ze_module_build_log_handle_t {
    std::string text;
};

namespace ze_cpu {

/// The result of building a module. Kernels keep it alive.
struct BuiltModule {
    std::shared_ptr<const Program> program;            // null while imports are unresolved
    std::vector<std::shared_ptr<const Program>> homes; // with variables that `program` uses
    std::vector<KernelInfo> kernels;
};

/// The contents of a native binary.
struct NativeModule {
    std::vector<KernelInfo> kernels;
    std::vector<uint8_t> binary; // of the OpenCL program; empty while imports are unresolved
    std::vector<std::string> unresolved;
    std::string options; // for linking the sources
    struct Input {
        std::vector<uint8_t> words;
        std::string options;
        Constants constants;
    };
    std::vector<Input> sources; // the module's inputs, if other modules may be linked with it
};

/// Held while units are linked, and while the units that they are linked with are read: threads may
/// link several modules with the same one.
std::mutex &link_mutex();

/// Native binaries: see native_binary.cpp for the layout.
std::vector<uint8_t> pack_native(const NativeModule &module);
bool unpack_native(const uint8_t *data, size_t size, NativeModule &module, std::string &error);

} // namespace ze_cpu

struct _ze_module_handle_t {
    ze_context_handle_t context = nullptr;
    std::shared_ptr<ze_cpu::BuiltModule> built;
    std::shared_ptr<ze_cpu::Unit> unit;
    ze_cpu::Closure uses; // the units that `unit` is linked with, which may outlive their modules
    bool has_imports = false;
    std::mutex mutex;            // protects what is made at its first use:
    std::vector<uint8_t> native; // zeModuleGetNativeBinary
    ze_cpu::Program functions;   // zeModuleGetFunctionPointer
};
