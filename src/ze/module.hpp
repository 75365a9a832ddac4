// SPDX-License-Identifier: Apache-2.0
// Kernels from SPIR-V: modules are built once per process for a device, a SPIR-V binary and a set of
// specialisation constants.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "ze/device.hpp"

namespace zemm::ze {

struct spec_constant {
    uint32_t id;
    uint32_t value;
    bool operator==(const spec_constant &) const = default;
};

struct spirv {
    const char *name; // names it in messages and keys
    std::span<const uint8_t> words;
    const char *hash; // of the words: the caches know the binary by its name and this
};

// How a kernel is built: what get_kernel() takes but for the device, by the name of the SPIR-V.
struct kernel_source {
    const char *name = nullptr;  // in kernels.def
    const char *entry = nullptr; // in the module
    std::vector<spec_constant> constants;
    const char *flags = ""; // a literal
};

// The driver makes no kernel of a module: a fault that stays, unlike a lack of memory or a lost device.
class build_error : public error {
public:
    build_error(const spirv &binary, std::string message, std::string reason)
        : error(zemm_runtime_error, std::move(message)), module_(binary.name), reason_(std::move(reason)) {}
    const std::string &module() const { return module_; } // the SPIR-V's name
    const std::string &reason() const { return reason_; } // the build log's first line

private:
    std::string module_, reason_;
};

struct built_module;

class kernel : public std::enable_shared_from_this<kernel> {
public:
    kernel(const kernel &) = delete;
    kernel &operator=(const kernel &) = delete;
    // Arguments live in the kernel handle: hold this lock from the first argument to the launch.
    std::mutex lock;
    ze_kernel_handle_t handle() const { return handle_.get(); }
    std::atomic<bool> built_now = false; // false when it came from the module cache (for tests)
    bool from_disk() const;              // its module was built by another process, or another time

private:
    friend class module_cache;
    kernel() = default;
    std::shared_ptr<built_module> module_;
    owned_kernel handle_; // destroyed before its module
};

// The kernel `entry` of a SPIR-V binary. Throws build_error with the build log when the driver refuses it; it
// is not asked again.
// Kernels may reach any USM of the context through pointers in their arguments (indirect access is set).
// Two calls with the same arguments get the same kernel as long as the cache of the device keeps it. The
// kernel keeps the device open. flags: build flags such as "-ze-opt-large-register-file" ("" for none).
std::shared_ptr<kernel> get_kernel(std::shared_ptr<device> dev, const spirv &binary, const char *entry,
                                   std::vector<spec_constant> constants, const char *flags);

bool has_build_failures(const device &dev);
// The reason of the build_error that get_kernel() with these arguments has thrown before; "" if it has not.
std::string build_failure(const device &dev, const spirv &binary, const char *entry,
                          std::vector<spec_constant> constants, const char *flags);

} // namespace zemm::ze
