// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <level_zero/ze_api.h>

#include "opencl_api.h"
#include "spirv.h"

/// Text that outlives the module it came from, as the specification wants.
struct _ze_module_build_log_handle_t {
    std::string text;
};

namespace ze_cpu {

/// Owns an OpenCL program.
class Program {
public:
    Program() = default;
    explicit Program(cl::Program handle) : handle_(handle) {}
    Program(Program &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    Program &operator=(Program &&other) noexcept;
    ~Program();
    cl::Program get() const { return handle_; }
    cl::Program release() { return std::exchange(handle_, nullptr); }

private:
    cl::Program handle_ = nullptr;
};

/// What came out of building: kernels keep it alive.
struct BuiltModule {
    Program program;
    std::vector<KernelInfo> kernels;
};

/// Native binaries: see native_binary.cpp for the layout.
std::vector<uint8_t> pack_native(const BuiltModule &module, const std::vector<uint8_t> &program_binary);
bool unpack_native(const uint8_t *data, size_t size, std::vector<KernelInfo> &kernels,
                   std::vector<uint8_t> &program_binary, std::string &error);

/// The flags of ze_module_desc_t as OpenCL options. What has no meaning on a CPU is named in `log` and left
/// out.
std::string translate_flags(const char *flags, std::string &log);

/// Those of the options of a build that are for the linker, too.
std::string link_options(const std::string &options);

} // namespace ze_cpu

struct _ze_module_handle_t {
    ze_context_handle_t context = nullptr;
    std::shared_ptr<ze_cpu::BuiltModule> built;
    std::vector<uint8_t> native; // filled at the first zeModuleGetNativeBinary
    std::mutex native_mutex;
};
