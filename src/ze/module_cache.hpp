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
