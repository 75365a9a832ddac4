// SPDX-License-Identifier: Apache-2.0
// The modules built on a device; the one that was not used for the longest time leaves first. It belongs to
// the device, so that no module outlives the context that it was built in; kernels in use stay alive on their
// own.
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

// A module: loaded from the disk cache, or built from SPIR-V and kept there.
struct built_module {
    enum class origin { anywhere, spirv };
    built_module(const device &dev, const spirv &binary, const std::vector<spec_constant> &constants,
                 const char *flags, origin from = origin::anywhere);
    const api &fn;
    ze_module_handle_t handle() const { return handle_.get(); }
    bool from_disk = false;
    std::string log; // of the build, in one line

private:
    ze_result_t create(const device &dev, ze_module_desc_t desc, std::string &log);
    bool load(const device &dev, const std::string &key, const char *flags);
    void store(const std::string &key) const;

    owned_module handle_;
};

// A failure that another module, or another try, would not meet as well.
bool is_fault_of_module(ze_result_t result);

// Throws build_error, or for what is no fault of the module an error; call: "zeModuleCreate" and of what.
[[noreturn]] void fail_build(const spirv &binary, const std::string &log, ze_result_t result,
                             const std::string &call);

class module_cache {
public:
    // capacity: modules that it keeps.
    explicit module_cache(size_t capacity = 512) : capacity_(capacity) {}

    std::shared_ptr<kernel> get(const device &dev, const spirv &binary, const char *entry,
                                const std::vector<spec_constant> &constants, const char *flags);
    bool has_failures() const { return has_failures_; }
    // Why get() failed to build the kernel earlier, "" if it did not.
    std::string failure(const spirv &binary, const char *entry, const std::vector<spec_constant> &constants,
                        const char *flags);

private:
    struct slot {
        std::mutex lock; // held while the module is built: others who want it wait
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
    std::atomic<bool> has_failures_ = false;                // spares looking
};

} // namespace zemm::ze
