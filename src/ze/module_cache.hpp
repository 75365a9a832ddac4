// SPDX-License-Identifier: Apache-2.0
// The cache of a device's modules and kernels. The least recently used module leaves it first. The
// device owns the cache, so that cached modules do not outlive their context. Kernels in use keep
// their modules alive.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "common/lru.hpp"
#include "ze/module.hpp"

namespace zemm::ze {

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

class module_cache {
public:
    // capacity: the number of modules to keep; also the limit of remembered failures.
    explicit module_cache(size_t capacity = 512) : capacity_(capacity) {}

    std::shared_ptr<kernel> get(const device &dev, const spirv &binary, const char *entry,
                                const std::vector<spec_constant> &constants, const char *flags);
    // Adds a module that is loaded from a native binary, unless the cache has the module.
    void add(const device &dev, const spirv &binary, const std::vector<spec_constant> &constants,
             const char *flags, std::span<const uint8_t> native);
    bool has_failures() const { return has_failures_; }
    // The reason of an earlier build_error of get() with these arguments; "" if there was none.
    std::string failure(const spirv &binary, const char *entry, const std::vector<spec_constant> &constants,
                        const char *flags);

private:
    struct slot {
        std::mutex lock; // held during the build, so that other threads wait for it
        std::shared_ptr<built_module> built;
        std::map<std::string, std::shared_ptr<kernel>> kernels; // by entry point
    };

    std::shared_ptr<slot> find_or_add(const std::string &key);
    std::shared_ptr<kernel> build(slot &s, const device &dev, const spirv &binary, const char *entry,
                                  const std::vector<spec_constant> &constants, const char *flags);
    void throw_if_failed(const std::string &kernel_key);

    const size_t capacity_;
    std::mutex lock_;
    lru<std::shared_ptr<slot>> slots_;                      // by module
    std::unordered_map<std::string, build_error> failures_; // by module and entry point
    std::atomic<bool> has_failures_ = false;                // saves a lookup under lock_
};

} // namespace zemm::ze
