// SPDX-License-Identifier: Apache-2.0
#include "ze/module_cache.hpp"

#include "common/error.hpp"
#include "ze/cache_folder.hpp"

namespace zemm::ze {
namespace {

// Equal for equal modules.
std::string key_of(const spirv &binary, const std::vector<spec_constant> &constants, const char *flags) {
    std::string key = text("%s|%s|%s", binary.name, binary.hash, flags);
    for (const spec_constant &c : constants)
        key += text("|%u=%u", c.id, c.value);
    return key;
}

ze_result_t new_kernel(const built_module &module, const char *entry, owned_kernel &kernel) {
    ze_kernel_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
    desc.pKernelName = entry;
    ze_kernel_handle_t created = nullptr;
    const ze_result_t result = module.fn.zeKernelCreate(module.handle(), &desc, &created);
    if (result == ZE_RESULT_SUCCESS)
        kernel = {module.fn, created};
    return result;
}

} // namespace

std::shared_ptr<module_cache::slot> module_cache::find_or_add(std::string key) {
    std::lock_guard hold(lock_);
    if (auto found = by_key_.find(key); found != by_key_.end()) {
        newest_first_.splice(newest_first_.begin(), newest_first_, found->second);
        return found->second->second;
    }
    order added; // what may throw comes before the lists change
    added.emplace_front(key, std::make_shared<slot>());
    by_key_.emplace(std::move(key), added.begin());
    newest_first_.splice(newest_first_.begin(), added);
    if (newest_first_.size() > capacity_) {
        by_key_.erase(newest_first_.back().first);
        newest_first_.pop_back();
    }
    return newest_first_.front().second;
}

void module_cache::throw_if_failed(const std::string &kernel_key) {
    if (!has_failures_)
        return;
    std::lock_guard hold(lock_);
    if (const auto found = failures_.find(kernel_key); found != failures_.end())
        throw found->second;
}

std::string module_cache::failure(const spirv &binary, const char *entry,
                                  const std::vector<spec_constant> &constants, const char *flags) {
    if (!has_failures_)
        return "";
    const std::string key = key_of(binary, constants, flags) + entry;
    std::lock_guard hold(lock_);
    const auto found = failures_.find(key);
    return found == failures_.end() ? "" : found->second.reason();
}

std::shared_ptr<kernel> module_cache::get(const device &dev, const spirv &binary, const char *entry,
                                          const std::vector<spec_constant> &constants, const char *flags) {
    const std::string key = key_of(binary, constants, flags);
    throw_if_failed(key + entry);
    const std::shared_ptr<slot> s = find_or_add(key);
    std::lock_guard hold(s->lock);
    throw_if_failed(key + entry); // while this thread waited
    try {
        return build(*s, dev, binary, entry, constants, flags);
    } catch (const build_error &e) {
        std::lock_guard hold_list(lock_);
        if (failures_.size() == capacity_)
            failures_.clear();
        failures_.emplace(key + entry, e);
        has_failures_ = true;
        throw;
    }
}

// Under the slot's lock.
std::shared_ptr<kernel> module_cache::build(slot &s, const device &dev, const spirv &binary,
                                            const char *entry, const std::vector<spec_constant> &constants,
                                            const char *flags) {
    bool build_now = !s.built;
    if (build_now)
        s.built = std::make_shared<built_module>(dev, binary, constants, flags);
    std::shared_ptr<kernel> &k = s.kernels[entry];
    if (!k) {
        std::shared_ptr<kernel> fresh(new kernel);
        ze_result_t result = new_kernel(*s.built, entry, fresh->handle_);
        if (s.built->from_disk && is_fault_of_module(result)) {
            // The binary is whole, but not what its key says.
            warn_of_cache(text("a binary of %s that was kept on disk has no usable kernel %s (zeKernelCreate "
                               "returned %s), the module is built",
                               binary.name, entry, result_text(result)));
            s.built =
                std::make_shared<built_module>(dev, binary, constants, flags, built_module::origin::spirv);
            build_now = true;
            result = new_kernel(*s.built, entry, fresh->handle_);
        }
        if (result != ZE_RESULT_SUCCESS)
            fail_build(binary, s.built->log, result,
                       text("kernel %s of %s on device \"%s\": zeKernelCreate", entry, binary.name,
                            dev.name.c_str()));
        fresh->module_ = s.built;
        check(dev.fn.zeKernelSetIndirectAccess(fresh->handle(), ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
                                                                    ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                                                                    ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED),
              "zeKernelSetIndirectAccess");
        k = std::move(fresh);
    }
    k->built_now = build_now;
    return k;
}

} // namespace zemm::ze
