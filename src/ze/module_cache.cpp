// SPDX-License-Identifier: Apache-2.0
#include "ze/module_cache.hpp"

#include <string_view>

#include "common/error.hpp"

namespace zemm::ze {
namespace {

// Equal for equal modules: the binary by name, size and 64 bits of hash.
std::string key_of(const spirv &binary, const std::vector<spec_constant> &constants, const char *flags) {
    const std::string_view bytes(reinterpret_cast<const char *>(binary.words.data()), binary.words.size());
    std::string key =
        text("%s|%zu|%zx|%s", binary.name, bytes.size(), std::hash<std::string_view>{}(bytes), flags);
    for (const spec_constant &c : constants)
        key += text("|%u=%u", c.id, c.value);
    return key;
}

} // namespace

std::shared_ptr<module_cache::slot> module_cache::find_or_add(std::string key) {
    std::lock_guard hold(lock_);
    if (auto found = by_key_.find(key); found != by_key_.end()) {
        newest_first_.splice(newest_first_.begin(), newest_first_, found->second);
        return found->second->second;
    }
    newest_first_.emplace_front(key, std::make_shared<slot>());
    by_key_.emplace(std::move(key), newest_first_.begin());
    if (newest_first_.size() > capacity_) {
        by_key_.erase(newest_first_.back().first);
        newest_first_.pop_back();
    }
    return newest_first_.front().second;
}

std::shared_ptr<kernel> module_cache::get(const device &dev, const spirv &binary, const char *entry,
                                          const std::vector<spec_constant> &constants, const char *flags) {
    const std::shared_ptr<slot> s = find_or_add(key_of(binary, constants, flags));
    std::lock_guard hold(s->lock);
    const bool build = !s->built;
    if (build)
        s->built = std::make_shared<built_module>(dev, binary, constants, flags);
    std::shared_ptr<kernel> &k = s->kernels[entry];
    if (!k) {
        std::shared_ptr<kernel> fresh(new kernel);
        fresh->module_ = s->built;
        ze_kernel_desc_t desc = {};
        desc.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
        desc.pKernelName = entry;
        const ze_result_t result = dev.fn.zeKernelCreate(s->built->handle, &desc, &fresh->handle);
        if (result != ZE_RESULT_SUCCESS) {
            fresh->handle = nullptr;
            fail(zemm_runtime_error, "kernel %s of %s on device \"%s\": zeKernelCreate returned %s", entry,
                 binary.name, dev.name.c_str(), result_text(result));
        }
        check(dev.fn.zeKernelSetIndirectAccess(fresh->handle, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
                                                                  ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                                                                  ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED),
              "zeKernelSetIndirectAccess");
        k = std::move(fresh);
    }
    k->built_now = build;
    return k;
}

} // namespace zemm::ze
