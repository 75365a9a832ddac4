// SPDX-License-Identifier: Apache-2.0
// Kernels built from SPIR-V. A process builds a module once for each device, SPIR-V binary, set of
// specialisation constants and build flags.
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
#include "ze/module_source.hpp"

namespace zemm::ze {

// The driver cannot build a module or its kernel. Trying again would fail again, unlike after a
// lack of memory or a lost device.
class build_error : public error {
public:
    build_error(const spirv &binary, std::string message, std::string reason)
        : error(zemm_runtime_error, std::move(message)), module_(binary.name), reason_(std::move(reason)) {}
    const std::string &module() const { return module_; } // the SPIR-V's name
    const std::string &reason() const { return reason_; } // first line of the build log

private:
    std::string module_, reason_;
};

// A module. The first constructor loads it from the disk cache (with origin::anywhere only), or
// builds it from SPIR-V and stores it in the disk cache. It throws build_error if the driver cannot
// build it. The second one loads the driver's native binary; it throws invalid_arguments if the
// driver refuses that.
struct built_module {
    enum class origin { anywhere, spirv };
    built_module(const device &dev, const spirv &binary, const std::vector<spec_constant> &constants,
                 const char *flags, origin from = origin::anywhere);
    built_module(const device &dev, std::span<const uint8_t> native, const char *flags);
    const api &fn;
    ze_module_handle_t handle() const { return handle_.get(); }
    // The driver's native binary; throws if the driver has none.
    std::vector<uint8_t> native_binary() const;
    bool from_disk = false; // or from a cache blob
    std::string log;        // build log in one line; "" if it was not built

private:
    ze_result_t create(const device &dev, ze_module_desc_t desc, std::string &log);
    ze_result_t create(const device &dev, std::span<const uint8_t> native, const char *flags,
                       std::string &log);
    bool load(const device &dev, const std::string &key, const char *flags);
    void store(const std::string &key) const;

    owned_module handle_;
};

// Whether the failure is caused by this module alone, so that another module may work, and trying
// again is useless.
bool is_fault_of_module(ze_result_t result);

// Throws build_error if the module is at fault, else a plain error. call: the failed call and what
// it was for, the beginning of the sentence.
[[noreturn]] void fail_build(const spirv &binary, const std::string &log, ze_result_t result,
                             const std::string &call);

class kernel : public std::enable_shared_from_this<kernel> {
public:
    kernel(const kernel &) = delete;
    kernel &operator=(const kernel &) = delete;
    // Arguments are state of the kernel handle: hold this lock from setting the first one to the
    // launch.
    std::mutex lock;
    ze_kernel_handle_t handle() const { return handle_.get(); }
    std::atomic<bool> built_now = false;        // the last get_kernel() had to make its module; for tests
    bool from_disk() const;                     // its module was loaded from the disk cache or a cache blob
    std::vector<uint8_t> native_binary() const; // of its module; throws if the driver has none

private:
    friend class module_cache;
    kernel() = default;
    std::shared_ptr<built_module> module_;
    owned_kernel handle_; // destroyed before its module
};

// Returns the kernel `entry` of a SPIR-V binary, which is built if the device's cache does not have
// it. Calls with equal arguments return the same kernel as long as the cache keeps it. The kernel
// keeps the device open. It may reach any USM of the context through pointers in its arguments
// (indirect access is set). flags: build flags such as "-ze-opt-large-register-file"; "" or nullptr
// for none. Throws build_error if the driver cannot build the kernel; the device remembers that and
// does not try again.
std::shared_ptr<kernel> get_kernel(std::shared_ptr<device> dev, const spirv &binary, const char *entry,
                                   std::vector<spec_constant> constants, const char *flags);

// Loads a module from the driver's native binary, so that get_kernel() does not build it. binary,
// constants and flags are what it was built from. Throws invalid_arguments if the driver refuses it.
void add_native_module(const device &dev, const spirv &binary, std::vector<spec_constant> constants,
                       const char *flags, std::span<const uint8_t> native);

bool has_build_failures(const device &dev);
// The reason() of the build_error that get_kernel() threw for these arguments; "" if it did not
// throw one.
std::string build_failure(const device &dev, const spirv &binary, const char *entry,
                          std::vector<spec_constant> constants, const char *flags);

} // namespace zemm::ze
